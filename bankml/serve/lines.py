"""stderr of a server that is left running: a line that cannot be written is lost, and holds up nobody."""

import io
import os
import queue
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

MOST = 4096  # lines that wait for a reader that is slow; one more is lost
PATIENCE = 1.0  # seconds that the last lines get at the end


class Lines(io.TextIOBase):
    """A text file over the descriptor `fd`, which a thread of its own writes to, so `write` neither waits nor fails.

    A full disk, a closed pipe, a reader that has stopped: what they do not take is told to `lost` as a number of lines.
    """

    def __init__(self, fd: int, lost: Callable[[int], None]) -> None:
        self._fd, self._lost = fd, lost
        self._waiting: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="lines", daemon=True)
        self._thread.start()

    def write(self, text: str) -> int:
        """Queue `text`; its length, as of any file."""
        if self._waiting.qsize() < MOST:
            self._waiting.put(text.encode("utf-8", "backslashreplace"))
        else:
            self._lost(text.count("\n"))
        return len(text)

    def writable(self) -> bool:
        """Always."""
        return True

    def fileno(self) -> int:
        """The descriptor that is written to."""
        return self._fd

    def isatty(self) -> bool:
        """Whether a person reads it."""
        return os.isatty(self._fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Write what waits, for at most PATIENCE; the file itself stays open, and later lines are lost."""
        self._waiting.put(None)
        self._thread.join(PATIENCE)

    def _work(self) -> None:
        while (data := self._waiting.get()) is not None:
            try:
                while data:
                    data = data[os.write(self._fd, data) :]
            except OSError:
                self._lost(data.count(b"\n"))
