"""sha256 of model files: read once, then remembered by path, size and time of change."""

import contextlib
import hashlib
import json
import os
from pathlib import Path
from typing import Any

from bankml.errors import ModelError
from bankml.models import atomic
from bankml.models.progress import Progress, silent
from bankml.settings import Settings

CHUNK = 4 << 20
MAX_ENTRIES = 1000
MAX_CACHE = 1 << 20  # bytes; 1,000 entries are a quarter of it


def sha256(path: str | os.PathLike[str], progress: Progress = silent) -> str:
    """The file's sha256, 64 hex digits. Raises ModelError when it cannot be read or changes meanwhile."""
    place = Path(path).resolve()
    cache = Settings.read().home / "digests.json"
    try:
        status = place.stat()
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}") from None
    stamp = [status.st_size, status.st_mtime_ns]
    match _entries(cache).get(str(place)):
        case [size, changed, str(known)] if [size, changed] == stamp and _is_digest(known):
            return known
    found = _computed(place, stamp, progress)
    _remember(cache, str(place), [*stamp, found])
    return found


def _computed(path: Path, stamp: list[int], progress: Progress) -> str:
    digest, done = hashlib.sha256(), 0
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


def _entries(cache: Path) -> dict[str, Any]:
    """What is remembered; a file that is absent, damaged or foreign counts as empty."""
    try:
        with cache.open("rb") as file:
            value = json.loads(file.read(MAX_CACHE))
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _remember(cache: Path, path: str, entry: list[Any]) -> None:
    """A digest that cannot be stored is computed again next time; nothing else depends on it."""
    with contextlib.suppress(OSError), atomic.lock(cache.with_name(".digests.lock")):
        entries = _entries(cache)
        entries.pop(path, None)
        kept = dict(list(entries.items())[-(MAX_ENTRIES - 1) :]) | {path: entry}  # newest last
        with atomic.replacement(cache) as temporary:
            temporary.write_text(json.dumps(kept, indent=0))


def _is_digest(text: str) -> bool:
    return len(text) == 64 and set(text) <= set("0123456789abcdef")
