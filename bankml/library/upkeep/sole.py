"""One process at a time for a work on a store that takes long; others are told who is at it, and do not wait."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bankml.errors import BusyError, StoreError

PATIENCE = 0.2  # seconds: `running` holds the file for microseconds
FLAGS = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


def place(store: Path) -> Path:
    """The file that is locked: one of its own, because closing a database's file would drop SQLite's locks on it."""
    return store.with_name(f"{store.name}.reindexing")


@contextmanager
def sole(store: Path) -> Iterator[None]:
    """Raises BusyError at once when another process or thread is at it. A killed one lets go by itself."""
    path = place(store)
    try:
        descriptor = _held(path)
    except BlockingIOError:
        raise BusyError(f"{store} is being reindexed{_by(path)}: wait until that is done, or end it") from None
    except OSError as error:
        raise StoreError(
            f"{path} cannot be locked ({error.strerror}): move the knowledge base to where it can"
        ) from None
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, b"%d\n" % os.getpid(), 0)
        yield
    finally:
        with suppress(OSError):
            path.unlink()
        os.close(descriptor)


def running(store: Path) -> bool:
    """Whether a process is at it."""
    try:
        descriptor = os.open(place(store), os.O_RDONLY | FLAGS)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    except OSError:
        return True
    finally:
        os.close(descriptor)


def _held(path: Path) -> int:
    """A file that lost its name before it was locked was removed by its owner: another is made."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | FLAGS, 0o600)
        try:
            _lock(descriptor)
            if os.fstat(descriptor).st_nlink:
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _lock(descriptor: int) -> None:
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                raise
            time.sleep(0.01)


def _by(path: Path) -> str:
    """Who holds it, if it says so."""
    with suppress(OSError, ValueError):
        number = path.read_text()[:20].strip()
        return f" by process {number}" if number.isdecimal() else ""
    return ""
