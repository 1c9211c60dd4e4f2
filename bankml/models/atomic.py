"""A file that is either whole or not there: written beside its place, forced to the disk, then renamed."""

import contextlib
import fcntl
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacement(path: Path, folder: Path | None = None, mode: int = 0o666) -> Iterator[Path]:
    """A temporary path that becomes `path` when the block ends, and vanishes when it raises.

    It lies in `folder`, of the same file system; None: beside `path`. What killed processes left there goes first.
    `mode` is narrowed by the umask.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    place = folder or path.parent
    _sweep(place, path.name)
    temporary, descriptor = _held(place, path.name, mode)
    try:
        yield temporary
        publish(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()
        raise
    finally:
        os.close(descriptor)


def publish(temporary: Path, path: Path) -> None:
    """Gives a finished file of the same file system its name; after a power cut it is there whole or not at all."""
    _sync(temporary)
    os.replace(temporary, path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Forces the names in a folder to the disk; one that may be written and not listed cannot be."""
    with contextlib.suppress(PermissionError):
        _sync(folder)


@contextmanager
def lock(path: Path) -> Iterator[None]:
    """Holds `path` as a lock against every other process and thread that does the same; waits for its turn."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _held(folder: Path, name: str, mode: int) -> tuple[Path, int]:
    """A new file, locked as long as the descriptor is open: a process that is killed lets go of it."""
    while True:
        temporary = folder / f".{name}.{secrets.token_hex(8)}.tmp"
        descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        with contextlib.suppress(OSError):  # a file system without locks, where nothing is swept either
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_nlink:  # else swept before it was locked
            return temporary, descriptor
        os.close(descriptor)


def _sweep(folder: Path, name: str) -> None:
    """Removes the temporary files of `name` that no process holds."""
    ours = re.compile(rf"\.{re.escape(name)}\.[0-9a-f]{{16}}\.tmp")
    with contextlib.suppress(OSError):  # a folder that may be written and not listed
        for found in [entry for entry in folder.iterdir() if ours.fullmatch(entry.name)]:
            with contextlib.suppress(OSError):
                _remove_if_left(found)


def _remove_if_left(temporary: Path) -> None:
    descriptor = os.open(temporary, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        temporary.unlink()
    finally:
        os.close(descriptor)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
