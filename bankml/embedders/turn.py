"""One call at a time: the others wait, or are told at once that it is busy."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from bankml.embedders.embedder import Cancelled
from bankml.errors import BusyError, CancelledError

LOOK = 0.05  # seconds between two looks whether the caller gave up


class Turn:
    """A lock that knows impatient callers and those who leave."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    @contextmanager
    def taken(self, block: bool = True, cancelled: Cancelled | None = None) -> Iterator[None]:
        """Raises BusyError at once when another call runs and `block` is False, CancelledError while waiting."""
        if not self._lock.acquire(blocking=False):
            if not block:
                raise BusyError("the embedding model is busy with another call; try again in a moment")
            while not self._lock.acquire(timeout=LOOK):
                if cancelled and cancelled():
                    raise CancelledError("the caller gave up before its turn")
        try:
            yield
        finally:
            self._lock.release()
