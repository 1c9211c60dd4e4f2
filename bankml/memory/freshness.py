"""Whether a record may still be true: as it was said, and by the files that it cites."""

import os
import stat
import threading
import time
from collections import OrderedDict

from bankml.memory.cited import hashed, modified, unread
from bankml.store.record import Cited, Freshness, Record

READ = 64 << 20  # bytes of cited files that are read for one answer, 0.2 s or less
FILES = 4096  # whose sha256 is remembered
SETTLED = 1_000_000_000  # nanoseconds: what was changed a moment ago may change again without another time


class Sha256:
    """What files have, remembered while nothing of their state changes; safe to use from many threads."""

    def __init__(self, files: int = FILES) -> None:
        self._files = files
        self._lock = threading.Lock()
        self._found: OrderedDict[tuple[bytes, int, int, int, int, int], str] = OrderedDict()

    def of(self, full: bytes, state: os.stat_result, left: int) -> tuple[str, int]:
        """The sha256 of a file, and how many bytes were read for it; "" where that were more than are `left`.

        Raises OSError.
        """
        key = _key(full, state)
        with self._lock:
            if key in self._found:
                self._found.move_to_end(key)
                return self._found[key], 0
        if state.st_size > left:
            return "", 0
        found, state = hashed(full)
        if time.time_ns() - state.st_mtime_ns > SETTLED:
            with self._lock:
                self._found[_key(full, state)] = found
                if len(self._found) > self._files:
                    self._found.popitem(last=False)
        return found, state.st_size


REMEMBERED = Sha256()  # of this process


class Look:
    """At the files of some records, for one answer: it reads `left` bytes at most, for one thread.

    Past these a file whose time has changed counts as changed.
    """

    def __init__(self, left: int = READ, remembered: Sha256 = REMEMBERED) -> None:
        self._left = left
        self._remembered = remembered

    def seen(self, record: Record) -> Freshness:
        """As it was said; `needs_review` of a current one, too, where a cited file has changed or is gone.

        A file has changed if its size has, or its time and its sha256. What could not be read when it was cited tells
        nothing, and where the record's root is not there, as of another machine's records, nothing is known of any
        file. Waits for no pipe and raises nothing.
        """
        if record.freshness != "current" or not (record.cited and record.root and os.path.isdir(record.root)):
            return record.freshness
        return "needs_review" if any(self._changed(record.root, file) for file in record.cited) else "current"

    def _changed(self, root: bytes, file: Cited) -> bool:
        full = os.path.join(root, file.path)
        if file.path.endswith(b"/"):
            return not os.path.isdir(full)
        if unread(file):
            return False
        try:
            state = os.stat(full)
            if not stat.S_ISREG(state.st_mode) or state.st_size != file.size:
                return True
            if modified(state) == file.modified:
                return False
            return not file.sha256 or self._sha256(full, state) != file.sha256
        except OSError:
            return True

    def _sha256(self, full: bytes, state: os.stat_result) -> str:
        found, read = self._remembered.of(full, state, self._left)
        self._left -= read
        return found


def seen(record: Record) -> Freshness:
    """As of a `Look` at this record alone."""
    return Look().seen(record)


def _key(full: bytes, state: os.stat_result) -> tuple[bytes, int, int, int, int, int]:
    return full, state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns
