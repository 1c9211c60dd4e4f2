"""Lines of an .emb become rows: the last line of a key counts, and only what was not read yet is read."""

import os
import zlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from bankml.cache.line import LONGEST, BadLineError, read
from bankml.cache.matrix import Covered, Floats, Matrix
from bankml.cache.stamp import Stamp
from bankml.lines import lines

BATCH = 1024  # rows written at once
EDGE = 4096  # bytes at either end of what was read that tell whether it is still the same


class Weights(NamedTuple):
    """Whose vectors are wanted."""

    digest: str
    dims: int


class Table:
    """Which row is whose, while lines are added."""

    def __init__(self, matrix: Matrix, known: Mapping[str, int]) -> None:
        self.fresh: dict[str, int] = {}  # beside `known`, which is not touched: threads look into it
        self._matrix, self._known = matrix, known

    def put(self, keys: Sequence[str], vectors: Floats) -> None:
        """Rows for new keys, and other vectors for those that have one."""
        new: dict[str, int] = {}  # where its last vector is
        for key, at in {key: at for at, key in enumerate(keys)}.items():
            if (row := self._known.get(key, self.fresh.get(key))) is None:
                new[key] = at
            else:
                self._matrix.replace(row, vectors[at])
        if not new:
            return
        self._matrix.add(list(new), vectors if len(new) == len(keys) else vectors[list(new.values())])
        begin = len(self._known) + len(self.fresh)
        self.fresh.update(zip(new, range(begin, begin + len(new)), strict=True))


def read_on(source: int, covered: Covered | None, weights: Weights, table: Table) -> tuple[Covered, int]:
    """Puts what was appended since `covered` into the table: how far that is now, and 1 if a torn line follows.

    A last line without its newline counts when it is whole in itself; else its writer may not be done.
    """
    stamp = Stamp.of(os.fstat(source))
    end, skipped = (covered.end, covered.skipped) if covered else (0, 0)
    keys: list[str] = []
    vectors: list[Floats] = []
    torn = 0
    for line in lines(source, LONGEST, end, stamp.size):
        try:
            if line.bytes is None or line.bytes.strip():
                entry = read(line.bytes)
                if entry[1:3] == weights:
                    keys.append(entry.key)
                    vectors.append(entry.vector)
        except BadLineError:
            if not line.finished:
                torn = 1
                break
            skipped += 1
        end = line.end
        if len(keys) == BATCH:
            table.put(keys, np.stack(vectors))
            keys, vectors = [], []
    if keys:
        table.put(keys, np.stack(vectors))
    return Covered(stamp, end, skipped, edges(source, end)), torn


def goes_on(source: int, covered: Covered) -> bool:
    """Whether the file is the one that was read, and has only grown since."""
    now = Stamp.of(os.fstat(source))
    if now.inode != covered.stamp.inode or now.size < covered.stamp.size:
        return False
    if now.size == covered.stamp.size and now.mtime != covered.stamp.mtime:
        return False
    return edges(source, covered.end) == covered.edges


def edges(source: int, end: int) -> int:
    """A crc32 of the first and the last bytes before `end`."""
    first = os.pread(source, min(EDGE, end), 0)
    return zlib.crc32(os.pread(source, min(EDGE, end), max(0, end - EDGE)), zlib.crc32(first))
