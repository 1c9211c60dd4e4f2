"""A thread for calls that may block for ever: it keeps no process from ending, as threads of a pool do."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")


class Aside:
    """Makes one call after the other."""

    def __init__(self, name: str) -> None:
        self._calls: SimpleQueue[tuple[Callable[[], Any], asyncio.Future[Any]] | None] = SimpleQueue()
        threading.Thread(target=self._work, name=name, daemon=True).start()

    async def run(self, call: Callable[[], T]) -> T:
        """What `call` gives or raises; who is cancelled meanwhile leaves it to itself."""
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._calls.put((call, future))
        return await future

    def close(self) -> None:
        """Nothing more is called."""
        self._calls.put(None)

    def _work(self) -> None:
        while asked := self._calls.get():
            call, future = asked
            try:
                settle = future.set_result, call()
            except BaseException as error:
                settle = future.set_exception, error
            with suppress(RuntimeError):  # the loop is closed
                future.get_loop().call_soon_threadsafe(_settle, future, *settle)


def _settle(future: "asyncio.Future[Any]", settle: Callable[[Any], None], value: Any) -> None:
    if not future.done():
        settle(value)
