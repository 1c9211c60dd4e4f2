"""Indexing in the background: started by a search, once at a time, waited for by nobody."""

import threading
from collections.abc import Callable
from time import monotonic

from bankml.errors import CancelledError, Error
from bankml.history.indexing import Progress
from bankml.leaving import leaving

PATIENCE, LONGEST = 5.0, 300.0  # seconds after a first failure, and after many
Work = Callable[[Progress, Callable[[], bool]], object]


class Background:
    """`work(progress, cancelled)` in a thread of its own; what it raises is kept as a sentence."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stopped = False
        self._ended, self._patience = 0.0, PATIENCE / 2
        self.error = ""  # why the last run ended early
        self.done, self.total = 0, 0  # texts of this run

    @property
    def running(self) -> bool:
        """Whether it is at work."""
        thread = self._thread
        return thread is not None and thread.is_alive()

    def start(self) -> None:
        """Unless it runs already, has just failed, or was closed."""
        with self._lock:
            if self.running or self._stopped or (self.error and monotonic() - self._ended < self._patience):
                return
            self.error, self.done, self.total = "", 0, 0
            thread = threading.Thread(target=self._run, name="history-index")
            try:
                thread.start()
                self._thread = thread
            except RuntimeError as error:  # the system refuses a thread
                self._failed(f"indexing could not start ({error})")

    def wait(self, seconds: float | None = None) -> None:
        """Until it has ended, or so many seconds."""
        if thread := self._thread:
            thread.join(seconds)

    def close(self) -> None:
        """Ends it between two texts, and for good."""
        with self._lock:
            self._stopped = True
        self.wait()

    def _run(self) -> None:
        try:
            self._work(self._progress, lambda: self._stopped or leaving())
            self._patience = PATIENCE / 2
        except CancelledError:
            pass
        except Error as error:
            self._failed(str(error))
        except Exception as error:
            self._failed(f"{type(error).__name__}: {error}")

    def _failed(self, why: str) -> None:
        """What fails again and again is tried less and less often."""
        self.error = why
        self._ended, self._patience = monotonic(), min(2 * self._patience, LONGEST)

    def _progress(self, done: int, total: int) -> None:
        self.done, self.total = done, total
