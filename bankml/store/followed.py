"""What a process keeps open of the file at a path, opened anew when another file takes its place."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from bankml.errors import StoreError


class Closable(Protocol):
    """What can be closed."""

    def close(self) -> None:
        """Let go of the file."""


T = TypeVar("T", bound=Closable)
R = TypeVar("R")


class Followed(Generic[T]):
    """`make` opens what lies at `path`, and raises StoreError where nothing does; safe to use from many threads."""

    def __init__(self, path: Path, make: Callable[[Path], T]) -> None:
        self.path = path
        self._make = make
        self._lock = threading.Lock()
        self._opened: tuple[T, tuple[int, int] | None] | None = None

    def opened(self) -> T:
        """As it lies there now. Raises as `make`."""
        with self._lock:
            file = _identity(self.path)
            if self._opened and self._opened[1] != file:
                self._let_go()
            if self._opened is None:
                made = self._make(self.path)
                self._opened = made, file or _identity(self.path)
            return self._opened[0]

    def of_now(self, work: Callable[[T], R]) -> R:
        """What `work` makes of it; once more where another file took its place meanwhile, which closed it."""
        opened = self.opened()
        try:
            return work(opened)
        except StoreError:
            if (now := self.opened()) is opened:
                raise
            return work(now)

    def close(self) -> None:
        """Ends what runs."""
        with self._lock:
            self._let_go()

    def _let_go(self) -> None:
        opened, self._opened = self._opened, None
        if opened:
            opened[0].close()


def _identity(path: Path) -> tuple[int, int] | None:
    """Device and inode: which file it is."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
