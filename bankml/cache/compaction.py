"""What an .emb file holds, and the same file without what nobody reads."""

import os
from collections import Counter
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from bankml.cache import sidecar
from bankml.cache.line import LONGEST, BadLineError, Entry, read
from bankml.cache.table import Weights
from bankml.errors import StoreError
from bankml.lines import Line, lines
from bankml.models.atomic import replacement
from bankml.private_file import PRIVATE, append, keep_owner, reading, writing

Keep = Callable[[], Container[str]]


@dataclass
class Contents:
    """Lines by what they are; empty ones count nowhere."""

    good: Counter[Weights] = field(default_factory=Counter)  # by (digest, dims)
    repeated: int = 0  # good ones whose key comes again with the same weights further on
    bad: Counter[str] = field(default_factory=Counter)  # by why
    size: int = 0  # bytes


@dataclass(frozen=True)
class Compacted:
    """What became of a file's lines and bytes."""

    kept: int
    others: int  # lines of other weights
    repeated: int
    unwanted: int  # lines of texts that are not to be kept
    bad: int
    before: int  # bytes
    after: int


def contents(path: Path) -> Contents:
    """Reads all of the file. StoreError for what is no readable file; nothing is found where none is."""
    found = Contents()
    seen: set[tuple[str, str, int]] = set()
    with reading(path) as source:
        if source is None:
            return found
        found.size = os.fstat(source).st_size
        for _, entry in _entries(source, found.size):
            if isinstance(entry, BadLineError):
                found.bad[str(entry)] += 1
                continue
            found.good[Weights(entry.digest, entry.dims)] += 1
            found.repeated += entry[:3] in seen
            seen.add(entry[:3])
    return found


def compact(path: Path, weights: Weights, keep: Keep | None) -> Compacted:
    """Replaces the file by one with the last line of each key that these weights made, and of `keep()` if given.

    Whoever appends meanwhile waits, or comes to write behind it.
    """
    try:
        with writing(path, flags=0) as source:
            return _replace(path, source, weights, keep)
    except StoreError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return Compacted(0, 0, 0, 0, 0, 0, 0)
        raise


def _replace(path: Path, source: int, weights: Weights, keep: Keep | None) -> Compacted:
    size = seen = os.fstat(source).st_size
    kept = keep() if keep else None  # after `size`: a text is there before its vector is, so none goes that is needed
    wanted: dict[str, Line] = {}
    others = repeated = unwanted = bad = 0
    for line, entry in _entries(source, size):
        if isinstance(entry, BadLineError):
            bad += 1
            seen = seen if line.finished else line.start  # a writer that knows of no lock may be in the middle of it
        elif entry[1:3] != weights:
            others += 1
        elif kept is not None and entry.key not in kept:
            unwanted += 1
        else:
            repeated += entry.key in wanted
            wanted[entry.key] = line._replace(bytes=b"")
    try:
        with replacement(path, mode=PRIVATE) as temporary:
            after = _copy(source, sorted(wanted.values()), temporary)
    except OSError as error:
        raise StoreError(
            f"{path} cannot be replaced ({error.strerror}) and is as it was: "
            "its folder has to be writable and its disk needs room for a second copy"
        ) from None
    for matrix in sidecar.all_of(path):  # they hold what was removed, and would be made anew in any case
        sidecar.remove(matrix)
    if (now := os.fstat(source).st_size) > size:
        append(path, os.pread(source, now - seen, seen))
    return Compacted(len(wanted), others, repeated, unwanted, bad, size, after)


def _copy(source: int, kept: list[Line], target: Path) -> int:
    with target.open("wb") as file:
        keep_owner(source, file.fileno())
        for line in kept:
            text = os.pread(source, line.end - line.start, line.start)
            file.write(text if line.finished else text + b"\n")
        return file.tell()


def _entries(source: int, end: int) -> Iterator[tuple[Line, Entry | BadLineError]]:
    for line in lines(source, LONGEST, 0, end):
        if line.bytes is None or line.bytes.strip():
            try:
                yield line, read(line.bytes)
            except BadLineError as error:
                yield line, error
