"""Native work beside the event loop."""

import asyncio
import time

import pytest

from bankml.errors import BusyError
from bankml.serve.errors import BUSY, RefusedError
from bankml.serve.workers import Workers


class Client:
    """The part of a request that workers look at: when the client hangs up."""

    def __init__(self, hangs_up_after: float = 1e6) -> None:
        self.hangs_up_after = hangs_up_after

    async def receive(self) -> dict:
        await asyncio.sleep(self.hangs_up_after)
        return {"type": "http.disconnect"}


def wait(cancelled) -> str:
    for _ in range(200):
        if cancelled():
            raise RuntimeError("cancelled")
        time.sleep(0.01)
    return "done"


def test_the_result_and_the_error_come_back():
    async def scene() -> None:
        workers = Workers()
        assert await workers.run(Client(), lambda cancelled: 7) == 7
        with pytest.raises(ZeroDivisionError):
            await workers.run(Client(), lambda cancelled: 1 // 0)
        workers.close()

    asyncio.run(scene())


def test_a_client_that_hangs_up_is_cancelled_running_or_waiting():
    async def scene() -> None:
        workers = Workers(threads=1)
        started = time.perf_counter()
        calls = (workers.run(Client(hangs_up_after=0.1), wait) for _ in range(4))
        errors = await asyncio.gather(*calls, return_exceptions=True)
        assert [(type(error), error.status) for error in errors] == [(RefusedError, 499)] * 4
        assert time.perf_counter() - started < 1
        workers.close()

    asyncio.run(scene())


def test_too_many_waiting_are_told_so():
    async def scene() -> None:
        workers = Workers(threads=1, max_pending=3)
        calls = [asyncio.create_task(workers.run(Client(), wait)) for _ in range(3)]
        await asyncio.sleep(0.05)
        with pytest.raises(BusyError) as error:
            await workers.run(Client(), wait)
        assert str(error.value) == BUSY == "server busy, please try again.  maximum pending requests exceeded"
        workers.close()
        results = await asyncio.gather(*calls, return_exceptions=True)
        assert all(isinstance(result, BaseException) for result in results)

    asyncio.run(scene())
