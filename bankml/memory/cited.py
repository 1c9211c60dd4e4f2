"""The files that a record cites, as they are now."""

import os
import stat
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from bankml.errors import InputError
from bankml.models import regular_file
from bankml.store.record import Cited

LARGEST = 16 << 20  # bytes of a file that are read, 0.05 s or less; of a larger one its size and its time tell
LONGEST = 4096  # bytes of a path; Linux takes no more
SHOWN = 80  # characters of a path in an error
TIME = 2**63 - 1  # SQLite counts no further, and file systems do


def cited(root: bytes, paths: Sequence[str | bytes]) -> tuple[Cited, ...]:
    """Each file once, in order, relative to `root`, as `taken`. Raises InputError as `relative`."""
    return tuple(taken(root, path) for path in dict.fromkeys(relative(root, each) for each in paths))


def again(root: bytes, before: Sequence[Cited], paths: Sequence[bytes]) -> tuple[Cited, ...]:
    """The files as `cited`; where there is no such root now, as it was moved or unmounted, as they were seen before."""
    if os.path.isdir(root):
        return cited(root, paths)
    known = {file.path: file for file in before}
    return tuple(known.get(path, Cited(path)) for path in paths)


def taken(root: bytes, path: bytes) -> Cited:
    """The file as it is. The path of a folder ends in a slash: only whether it is there is seen of it.

    One that cannot be read, or is no file, is kept by its name alone, and one of more than `LARGEST` bytes without its
    sha256. Waits for no pipe and raises nothing.
    """
    if not root:
        return Cited(path)
    full = os.path.join(root, path)
    try:
        state = os.stat(full)
        if stat.S_ISDIR(state.st_mode):
            return Cited(path.rstrip(b"/") + b"/")
        if not stat.S_ISREG(state.st_mode):  # it is not opened: that may do something to a device
            return Cited(path)
        if state.st_size > LARGEST:
            return Cited(path, "", state.st_size, modified(state))
        digest, state = hashed(full)
        return Cited(path, digest, state.st_size, modified(state))
    except OSError:
        return Cited(path)


def hashed(full: bytes) -> tuple[str, os.stat_result]:
    """The sha256 of a file's first `LARGEST` bytes, and its state before they were read. Raises OSError."""
    with open(regular_file.opened(Path(os.fsdecode(full))), "rb") as file:
        state = os.fstat(file.fileno())
        return sha256(file.read(min(state.st_size, LARGEST))).hexdigest(), state


def modified(state: os.stat_result) -> int:
    """When a file was changed, in nanoseconds, as the store can hold it."""
    return max(-TIME, min(TIME, state.st_mtime_ns))


def unread(file: Cited) -> bool:
    """Whether nothing is known of it but its name."""
    return not (file.sha256 or file.modified or file.path.endswith(b"/"))


def relative(root: bytes, path: str | bytes) -> bytes:
    """A path below `root`. Raises InputError for one that leads out of it, and for what is no path."""
    given = _bytes(path)
    if given.startswith(b"/"):
        found = _below(os.path.realpath(root), os.path.normpath(given)) if root else None
        if root and found is None:  # the root by another name
            folder, name = os.path.split(os.path.normpath(given))
            found = _below(os.path.realpath(root), os.path.join(os.path.realpath(folder), name))
    else:
        found = os.path.normpath(given)
    if found is None or found == b".." or found.startswith(b"../"):
        raise InputError(
            f"the path {_shown(given)} is outside of {_shown(root) if root else 'every folder that is known here'}: a "
            "record cites files of its own repository; write what is elsewhere into its content"
        )
    if found == b".":
        raise InputError(f"the path {_shown(given)} is the whole repository: name files or folders of it")
    return found + b"/" if given.endswith(b"/") else found


def _bytes(path: object) -> bytes:
    if not isinstance(path, str | bytes):
        raise InputError(f"a path is of type {type(path).__name__}: give a text")
    try:
        found = os.fsencode(path)
    except UnicodeEncodeError:
        raise InputError(f"the path {ascii(path)[:SHOWN]} holds half a character: give the file's own name") from None
    if not found.strip() or b"\0" in found or len(found) > LONGEST:
        raise InputError(f"the path {_shown(found)} is empty, longer than {LONGEST:,} bytes, or has a NUL: name a file")
    if b"://" in found:
        raise InputError(f"the path {_shown(found)} is an address: cite the file, and put the address into the content")
    return found


def _below(root: bytes, path: bytes) -> bytes | None:
    """The path behind the root; None where it is not below."""
    if path == root:
        return b"."
    start = os.path.join(root, b"")
    return path[len(start) :] if path.startswith(start) else None


def _shown(path: bytes) -> str:
    text = repr(os.fsdecode(path))
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…'"
