"""Something large in memory: made at its first use, dropped when it was not used for a while."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from time import monotonic
from typing import Generic, TypeVar

from bankml.errors import BusyError

T = TypeVar("T")
LONGEST = 86_400.0  # seconds; a thread cannot wait for 292 years at once


class Kept(Generic[T]):
    """`make` is called when it is used and not there, `drop` when nobody used it for `seconds`."""

    def __init__(self, make: Callable[[], T], drop: Callable[[T], None], seconds: float) -> None:
        self._make = make
        self._drop = drop
        self._seconds = seconds
        self._making = threading.Lock()
        self._changed = threading.Condition()
        self._value: T | None = None
        self._users = 0
        self._expires = 0.0
        self._watching = False

    @property
    def present(self) -> bool:
        """Whether it is in memory."""
        return self._value is not None

    @contextmanager
    def held(self, block: bool = True) -> Iterator[T]:
        """It, at least until the block ends. `block=False`: BusyError when another thread is making it."""
        if (value := self._taken()) is None:
            value = self._made(block)
        try:
            yield value
        finally:
            self._leave()

    def drop(self) -> None:
        """Let go of it now; who holds it ends as `drop` allows."""
        with self._changed:
            self._let_go()

    def _taken(self) -> T | None:
        with self._changed:
            if self._value is not None:
                self._users += 1
            return self._value

    def _made(self, block: bool) -> T:
        if not self._making.acquire(blocking=block):
            raise BusyError("the embedding model is being loaded; try again in a moment")
        try:
            if (value := self._taken()) is not None:  # another thread has made it meanwhile
                return value
            made = self._make()
            with self._changed:
                self._value = made
                self._users += 1
            return made
        finally:
            self._making.release()

    def _leave(self) -> None:
        with self._changed:
            self._users -= 1
            self._expires = monotonic() + self._seconds
            self._changed.notify_all()
            if not self._watching and self._value is not None:
                with suppress(RuntimeError):  # the system refuses a thread: the next user tries again
                    threading.Thread(target=self._watch, name="keep-alive", daemon=True).start()
                    self._watching = True

    def _watch(self) -> None:
        with self._changed:
            while self._value is not None:
                left = self._expires - monotonic()
                if self._users:
                    self._changed.wait()
                elif left > 0:
                    self._changed.wait(min(left, LONGEST))
                else:
                    self._let_go()
            self._watching = False

    def _let_go(self) -> None:
        value, self._value = self._value, None
        self._changed.notify_all()
        if value is not None:
            self._drop(value)
