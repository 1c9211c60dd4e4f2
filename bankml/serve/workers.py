"""Short blocking calls beside the event loop: a few threads, first come first served."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

from starlette.requests import Request

from bankml.serve.errors import CANCELED, RefusedError

T = TypeVar("T")

THREADS = 8  # tokenizing and reading files; the encoder has threads of its own


class Workers:
    """Runs blocking calls. A call is given a function that tells whether to give up."""

    def __init__(self, threads: int = THREADS) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="worker")
        self._calls: set[threading.Event] = set()

    async def run(self, call: Callable[[Callable[[], bool]], T]) -> T:
        """The result of `call(gone)`, which tells that the caller was cancelled; raises what it raises."""
        gone = threading.Event()
        self._calls.add(gone)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, call, gone.is_set)
        finally:
            gone.set()  # also when this task itself is cancelled and the thread still works
            self._calls.discard(gone)

    def close(self) -> None:
        """Cancel what runs and what waits."""
        for gone in self._calls:
            gone.set()
        self._pool.shutdown(wait=False, cancel_futures=True)


async def while_wanted(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """The result of `work`, which is cancelled when the client hangs up. Raises RefusedError then, else as `work`.

    The body must have been read: the next message is the client hanging up.
    """
    task, watcher = asyncio.create_task(work), asyncio.create_task(_hung_up(request))
    try:
        await asyncio.wait((task, watcher), return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise RefusedError(499, CANCELED)
    finally:
        watcher.cancel()
        task.cancel()


async def _hung_up(request: Request) -> None:
    with suppress(asyncio.CancelledError):
        while (await request.receive())["type"] != "http.disconnect":
            pass
