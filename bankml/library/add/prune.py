"""Documents whose file is gone, or is left out now, leave the store."""

import os
import sqlite3
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bankml.store import Store, documents

PART = 500  # documents removed in one transaction, so that other writers get their turn


@dataclass(slots=True)
class Pruned:
    """`kept`: a sentence for each folder of which nothing was removed because it looks as if its disk were missing."""

    removed: int = 0
    kept: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Walk:
    """What is found under the folders now. `failed`: files that cannot be read, folders that cannot be listed."""

    found: Collection[bytes]
    failed: Collection[bytes] = ()


def prune(store: Store, folders: Iterable[Path], walk: Callable[[], Walk]) -> Pruned:
    """Removes documents under `folders` whose file is gone or is none that `walk` finds.

    `walk` looks anew, after the documents were listed, so that what others add meanwhile stays. What lies elsewhere
    stays, what could not be read now stays, and all of a folder that cannot be listed or has nothing in it stays: so an
    unmounted disk looks.
    """
    pruned = Pruned()
    held: set[bytes] = set()
    for folder in folders:
        with store.reading() as db:
            inside = _held(db, folder)
        if inside and (why := _suspect(folder)):
            pruned.kept.append(f"{folder} {why}, as if its disk were missing: its {len(inside):,} documents stay")
        else:
            held.update(inside)
    if held:
        seen = walk()
        gone = sorted(path for path in held - set(seen.found) if not _under(path, seen.failed))
        for start in range(0, len(gone), PART):
            pruned.removed += _remove(store, gone[start : start + PART])
    return pruned


def _held(db: sqlite3.Connection, folder: Path) -> list[bytes]:
    """Paths of the documents under a folder."""
    start = os.path.join(os.fsencode(folder), b"")
    end = start[:-1] + bytes([start[-1] + 1])
    return [path for (path,) in db.execute("SELECT path FROM documents WHERE path > ? AND path < ?", (start, end))]


def _suspect(folder: Path) -> str:
    """Why a folder is not to be believed; "" where it is."""
    try:
        with os.scandir(folder) as entries:
            return "" if any(True for _ in entries) else "has nothing in it"
    except OSError as error:
        return f"cannot be listed ({error.strerror})"


def _under(path: bytes, failed: Collection[bytes]) -> bool:
    """Whether this, or a folder above it, could not be read."""
    while path not in failed:
        parent = os.path.dirname(path)
        if parent == path:
            return False
        path = parent
    return True


def _remove(store: Store, paths: Sequence[bytes]) -> int:
    there = {path: _there(path) for path in paths}
    with store.writing() as db:  # which may have waited for its turn
        sure = [path for path, before in there.items() if before is not None and before == _there(path)]
        found = [documents.find(db, path) for path in sure]
        return documents.remove(db, [one[0] for one in found if one])


def _there(path: bytes) -> bool | None:
    """Whether something has this path; None where the system does not say."""
    try:
        os.lstat(path)
        return True
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return None
