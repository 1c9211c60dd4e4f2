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
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def begin(self, call: Callable[[], T]) -> "asyncio.Future[T]":
        """What `call` will give or raise; who is cancelled meanwhile leaves it to itself."""
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._calls.put((call, future))
        return future

    def close(self) -> None:
        """Nothing more is called than was begun."""
        self._calls.put(None)

    def join(self, patience: float) -> None:
        """Once it is closed: waits so many seconds for what was begun."""
        self._thread.join(max(0.0, patience))

    def _work(self) -> None:
        while asked := self._calls.get():
            call, future = asked
            try:
                settle = future.set_result, call()
            except BaseException as error:
                settle = future.set_exception, error
            with suppress(RuntimeError):  # the loop is closed
                future.get_loop().call_soon_threadsafe(_settle, future, *settle)
            del asked, call, future, settle  # while it waits it keeps nothing that was asked or answered


def _settle(future: "asyncio.Future[Any]", settle: Callable[[Any], None], value: Any) -> None:
    if not future.done():
        settle(value)
