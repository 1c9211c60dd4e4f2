"""Short blocking calls beside the event loop."""

import asyncio
import time

import pytest

from bankml.serve.errors import RefusedError
from bankml.serve.workers import Workers, while_wanted
from tests.serve.clients import Client


def wait(gone) -> str:
    for _ in range(6000):
        if gone():
            raise RuntimeError("gone")
        time.sleep(0.01)
    return "done"


def test_the_result_and_the_error_come_back():
    async def scene() -> None:
        workers = Workers()
        assert await while_wanted(Client(), workers.run(lambda gone: 7)) == 7
        with pytest.raises(ZeroDivisionError):
            await while_wanted(Client(), workers.run(lambda gone: 1 // 0))
        workers.close()

    asyncio.run(scene())


def test_a_client_that_hangs_up_is_cancelled_running_or_waiting():
    async def scene() -> None:
        workers = Workers(threads=1)
        started = time.perf_counter()
        calls = (while_wanted(Client(hangs_up_after=0.1), workers.run(wait)) for _ in range(4))
        errors = await asyncio.gather(*calls, return_exceptions=True)
        assert [(type(error), error.status) for error in errors] == [(RefusedError, 499)] * 4
        assert await workers.run(lambda gone: 7) == 7  # the thread is free again
        assert time.perf_counter() - started < 30  # four that nobody cancels take four minutes
        workers.close()

    asyncio.run(scene())


def test_a_cancelled_caller_cancels_its_work():
    async def scene() -> None:
        workers = Workers(threads=1)
        task = asyncio.create_task(while_wanted(Client(), workers.run(wait)))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        started = time.perf_counter()
        assert await workers.run(lambda gone: 7) == 7
        assert time.perf_counter() - started < 30
        workers.close()

    asyncio.run(scene())
