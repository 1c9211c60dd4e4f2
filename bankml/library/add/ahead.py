"""The next pieces of work, done in a thread while the caller is busy with the ones before."""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import Generic, Self, TypeVar

Item = TypeVar("Item")
Done = TypeVar("Done")

ROOM = 8 << 20  # of `weight` that waits for the caller; some 16,000 chunks of text
MOST = 512  # pieces that wait, however light
PATIENCE = 5.0  # seconds for the piece in work when the caller leaves


class Ahead(Generic[Item, Done]):
    """`work` of each item, in order, done ahead of whoever takes it.

    At most `ROOM` of `weight` waits, or one piece. What `work` raises is raised where its piece would be taken.
    """

    def __init__(self, items: Iterable[Item], work: Callable[[Item], Done], weight: Callable[[Done], int]) -> None:
        self._items = items
        self._work = work
        self._weight = weight
        self._changed = threading.Condition()
        self._done: deque[tuple[Done, int]] = deque()
        self._held = 0
        self._ended = self._closed = False
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="ahead", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join(PATIENCE)

    def __iter__(self) -> Iterator[Done]:
        while True:
            with self._changed:
                while not (self._done or self._ended):
                    self._changed.wait()
                if not self._done:
                    break
                done, weight = self._done.popleft()
                self._held -= weight
                self._changed.notify_all()
            yield done
        if self._error:
            raise self._error

    @property
    def waiting(self) -> bool:
        """Whether a piece can be taken at once."""
        return bool(self._done)

    def _run(self) -> None:
        try:
            for item in self._items:
                if not self._put(self._work(item)):
                    return
        except BaseException as error:
            self._error = error
        finally:
            with self._changed:
                self._ended = True
                self._changed.notify_all()

    def _put(self, done: Done) -> bool:
        """False once nobody wants more."""
        weight = self._weight(done)
        with self._changed:
            while not self._closed and self._done and (self._held + weight > ROOM or len(self._done) >= MOST):
                self._changed.wait()
            self._done.append((done, weight))
            self._held += weight
            self._changed.notify_all()
            return not self._closed
