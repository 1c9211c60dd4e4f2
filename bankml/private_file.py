"""A file for its owner alone: opened only if it is one, locked while it is written, appended to in whole lines."""

import errno
import fcntl
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bankml.errors import StoreError
from bankml.models.atomic import sync_folder

PATIENCE = 60.0  # seconds; rewriting half a gigabyte takes a few
PRIVATE = 0o600
FLAGS = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK  # NONBLOCK: a pipe must not keep us

SENTENCES = {
    errno.ELOOP: "is a symbolic link: give the path of the file itself",
    errno.EISDIR: "is a folder: give the path of a file",
    errno.ENOENT: "cannot be made: its folder does not exist",
    errno.EROFS: "is on a read-only file system: copy the history to where it can be written",
    errno.EACCES: "is not yours to open: change its owner or its mode",
    errno.ENOSPC: "has no more room on its disk: free some; the lines before are kept",
    errno.EDQUOT: "has no more room in your quota: free some; the lines before are kept",
    errno.EFBIG: "has reached the largest size that a file may have here; the lines before are kept",
}


class HeldError(StoreError):
    """A file that another process did not let go of in time."""


def failed(path: Path, error: OSError) -> StoreError:
    """The sentence for what the system would not do."""
    why = SENTENCES.get(error.errno or 0, f"cannot be used: {error.strerror}")
    return StoreError(f"{path} {why}")


@contextmanager
def reading(path: Path) -> Iterator[int | None]:
    """A descriptor to read from, None where there is no file; StoreError for what is no regular file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | FLAGS)
    except FileNotFoundError:
        yield None
        return
    except OSError as error:
        raise failed(path, error) from error
    try:
        _regular(path, descriptor)
        yield descriptor
    except OSError as error:
        raise failed(path, error) from error
    finally:
        os.close(descriptor)


@contextmanager
def writing(path: Path, flags: int = os.O_CREAT | os.O_APPEND, patience: float = PATIENCE) -> Iterator[int]:
    """A descriptor to read and write with that no other process or thread holds; without O_CREAT an absent file raises.

    The file is its own lock: a lock file beside it would be one more to carry along, and to forget. Whoever replaces
    the file holds it too, so a descriptor of a file that has lost its name since is given back for the new one.
    """
    try:
        while not _named(path, descriptor := _held(path, flags, patience)):
            os.close(descriptor)
    except OSError as error:
        raise failed(path, error) from error
    try:
        yield descriptor
    except OSError as error:
        raise failed(path, error) from error
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_UN)  # closing does not suffice: a mapping keeps the open file
        os.close(descriptor)


def _held(path: Path, flags: int, patience: float) -> int:
    descriptor = os.open(path, os.O_RDWR | FLAGS | flags, PRIVATE)
    try:
        _regular(path, descriptor)
        lock(path, descriptor, patience)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _regular(path: Path, descriptor: int) -> None:
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "no regular file"
        raise StoreError(f"{path} is {kind}: give the path of a file")


def _named(path: Path, descriptor: int) -> bool:
    """Whether this is the file that the path leads to."""
    try:
        now = os.stat(path, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return os.path.samestat(now, os.fstat(descriptor))


def lock(path: Path, descriptor: int, patience: float) -> None:
    """Holds the file against others that do the same; StoreError after `patience` seconds, or without locks."""
    until = time.monotonic() + patience
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() >= until:
                raise HeldError(f"{path} was held by another process for {patience:g} s: try again later") from error
            time.sleep(0.002)
        except OSError as error:
            raise StoreError(
                f"{path} cannot be locked ({error.strerror}), so two processes could write over each other: "
                "keep the history on a file system with locks"
            ) from error


def append(path: Path, text: bytes) -> None:
    """Adds whole lines to the file, which is made if need be, and returns when they are on the disk.

    What does not fit leaves a torn line, behind which the next append begins anew. It is not cut off: a writer that
    knows of no lock may have written behind it.
    """
    with writing(path, patience=PATIENCE) as descriptor:
        state = os.fstat(descriptor)
        if state.st_mode & 0o077:
            with suppress(PermissionError):  # another user's file, who decides for whom it is
                os.fchmod(descriptor, PRIVATE)
        if state.st_size and os.pread(descriptor, 1, state.st_size - 1) != b"\n":
            text = b"\n" + text
        view = memoryview(text)
        while view:
            view = view[os.write(descriptor, view) :]
        os.fsync(descriptor)
        if not state.st_size:
            sync_folder(path.parent)


def keep_owner(source: int, target: int) -> None:
    """Lets root make a file for the user whose file it is made from."""
    if os.geteuid() == 0:
        state = os.fstat(source)
        os.fchown(target, state.st_uid, state.st_gid)
