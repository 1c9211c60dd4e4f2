"""Digests of files; the sha256 of a model's is read once, then remembered by path, size and time of change."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from bankml.errors import ModelError
from bankml.models import atomic, json_object
from bankml.models.progress import Progress, silent
from bankml.settings import Settings

CHUNK = 4 << 20
MAX_ENTRIES = 1000
MAX_CACHE = 1 << 20  # bytes; 1,000 entries are a quarter of it


_unwritten: dict[str, list[Any]] = {}
"""What this process could not store, so that it reads a file once even where BANKML_HOME cannot be written."""


def sha256(path: str | os.PathLike[str], progress: Progress = silent) -> str:
    """The file's sha256, 64 hex digits. Raises ModelError when it cannot be read or changes meanwhile."""
    place = Path(path).resolve()
    return _known(place, _stamp(place)) or fresh_sha256(place, progress)


def remembered(path: str | os.PathLike[str]) -> str | None:
    """The file's sha256 where it is known without reading the file."""
    place = Path(path).resolve()
    return _known(place, _stamp(place))


def fresh_sha256(
    path: str | os.PathLike[str], progress: Progress = silent, known_as: str | os.PathLike[str] | None = None
) -> str:
    """As `sha256`, read whatever is remembered: a bit that rotted on the disk changes neither size nor time.

    It is remembered for `known_as`, the name that the file gets next; None: for `path`.
    """
    place = Path(path).resolve()
    stamp = _stamp(place)
    found = _read(place, stamp, hashlib.sha256(), progress)
    _remember(_cache(), str(Path(known_as).resolve() if known_as else place), [*stamp, found])
    return found


def unremembered_sha256(path: Path) -> str:
    """As `fresh_sha256`, of a file that will soon be gone."""
    return _read(path, _stamp(path), hashlib.sha256(), silent)


def git_sha1(path: Path) -> str:
    """What git calls the file by, 40 hex digits: the sha1 of "blob", its size and its bytes. Raises ModelError."""
    stamp = _stamp(path)
    return _read(path, stamp, hashlib.sha1(b"blob %d\0" % stamp[0]), silent)


def is_sha256(text: str) -> bool:
    """Whether `text` is one as it is written here: 64 hex digits, lower case."""
    return len(text) == 64 and set(text) <= set("0123456789abcdef")


def _cache() -> Path:
    return Settings.read().home / "digests.json"


def _stamp(path: Path) -> list[int]:
    try:
        status = path.stat()
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}") from None
    return [status.st_size, status.st_mtime_ns]


def _known(path: Path, stamp: list[int]) -> str | None:
    for entries in (json_object.read_sound(_cache(), MAX_CACHE), _unwritten):
        match entries.get(str(path)):
            case [size, changed, str(known)] if [size, changed] == stamp and is_sha256(known):
                return known
    return None


def _read(path: Path, stamp: list[int], digest: "hashlib._Hash", progress: Progress) -> str:
    done = 0
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}") from None
    try:
        while chunk := os.pread(descriptor, min(CHUNK, stamp[0] + 1 - done), done):
            digest.update(chunk)
            done += len(chunk)
            progress(f"reading {path.name}", done, stamp[0])
        status = os.fstat(descriptor)
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}") from None
    finally:
        os.close(descriptor)
    if [status.st_size, status.st_mtime_ns] != stamp:
        raise ModelError(f"{path} changed while it was read: wait until it is complete and try again")
    return digest.hexdigest()


def _remember(cache: Path, path: str, entry: list[Any]) -> None:
    """A digest that cannot be stored is computed again by the next process; nothing else depends on it."""
    try:
        with atomic.lock(cache.with_name(".digests.lock")), atomic.replacement(cache) as temporary:
            temporary.write_text(json.dumps(_with(json_object.read_sound(cache, MAX_CACHE), path, entry), indent=0))
    except OSError:
        kept = _with(_unwritten, path, entry)
        _unwritten.clear()
        _unwritten.update(kept)


def _with(entries: dict[str, Any], path: str, entry: list[Any]) -> dict[str, Any]:
    """The newest MAX_ENTRIES, newest last."""
    others = [item for item in entries.items() if item[0] != path]
    return dict(others[-(MAX_ENTRIES - 1) :]) | {path: entry}
