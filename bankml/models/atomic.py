"""A file that is either whole or not there: written beside its place, forced to the disk, then renamed."""

import contextlib
import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacement(path: Path, folder: Path | None = None) -> Iterator[Path]:
    """A temporary path that becomes `path` when the block ends, and vanishes when it raises.

    It lies in `folder`, of the same file system and swept by the caller if this process is killed; None: beside `path`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = (folder or path.parent) / f".{path.name}.{secrets.token_hex(8)}.tmp"
    os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666))
    try:
        yield temporary
        publish(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()
        raise


def publish(temporary: Path, path: Path) -> None:
    """Gives a finished file of the same file system its name; after a power cut it is there whole or not at all."""
    _sync(temporary)
    os.replace(temporary, path)
    _sync(path.parent)


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


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
