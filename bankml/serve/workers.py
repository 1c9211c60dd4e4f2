"""Native work beside the event loop: a few threads, first come first served, stopped when the client has gone."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar

from starlette.requests import Request

from bankml.errors import BusyError
from bankml.serve.errors import BUSY, CANCELED, RefusedError

T = TypeVar("T")

THREADS = 8  # callers that tokenize and wait; the engine's own pool computes, one pass at a time
MAX_PENDING = 512  # Ollama's queue


class Workers:
    """Runs blocking calls for requests. A call is given a function that tells whether to give up."""

    def __init__(self, threads: int = THREADS, max_pending: int = MAX_PENDING) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="encode")
        self._max_pending = max_pending
        self._calls: set[threading.Event] = set()

    async def run(self, request: Request, call: Callable[[Callable[[], bool]], T]) -> T:
        """The result of `call(cancelled)`. Raises BusyError when too many wait, RefusedError when the client left."""
        if len(self._calls) >= self._max_pending:
            raise BusyError(BUSY)
        gone = threading.Event()
        self._calls.add(gone)
        watcher = asyncio.create_task(_watch(request, gone))
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, _unless, gone, call)
        except Exception:
            if gone.is_set():
                raise RefusedError(499, CANCELED) from None
            raise
        finally:
            gone.set()  # also when this task itself is cancelled and the thread still computes
            self._calls.discard(gone)
            watcher.cancel()

    @property
    def pending(self) -> int:
        """Calls that wait or run."""
        return len(self._calls)

    def close(self) -> None:
        """Cancel what runs and what waits."""
        for gone in self._calls:
            gone.set()
        self._pool.shutdown(wait=False, cancel_futures=True)


def _unless(gone: threading.Event, call: Callable[[Callable[[], bool]], T]) -> T:
    if gone.is_set():
        raise RefusedError(499, CANCELED)
    return call(gone.is_set)


async def _watch(request: Request, gone: threading.Event) -> None:
    """The body has been read, so the next message is the client hanging up."""
    with suppress(asyncio.CancelledError):
        while (await request.receive())["type"] != "http.disconnect":
            pass
        gone.set()
