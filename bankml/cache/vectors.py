"""The vectors of an .emb file that certain weights made, by the key of their text."""

import os
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bankml.cache import sidecar
from bankml.cache.matrix import Covered, Floats, InMemory
from bankml.cache.stamp import Stamp
from bankml.cache.table import Table, Weights, goes_on, read_on
from bankml.private_file import HeldError, reading

# Bytes of an .emb: 700 lines of 1,024 dims are decoded in 10 ms; they need no file, nor wait for a disk.
SMALL = 4 << 20


class Vectors:
    """Decoded once; `follow` reads what was appended since.

    `matrix`, (n, dims) float32, C-contiguous, unit rows, one a key: mapped read-only from a file beside the .emb, or in
    memory where the .emb is small or that file cannot be kept. One that was handed out stays valid, though a row of it
    may be replaced. Threads may share it: what `row` and `rows` say holds for a `matrix` that is taken after them.
    """

    def __init__(self, path: Path, weights: Weights) -> None:
        self.matrix: Floats = np.empty((0, weights.dims), np.float32)
        self.skipped = 0  # bad lines, of any weights
        self._path, self._weights = path, weights
        self._side = sidecar.place(path, weights)
        self._rows: dict[str, int] = {}
        self._stamp: Stamp | None = None
        self._file: sidecar.Loaded | None = None
        self._memory: tuple[InMemory, Covered] | None = None
        self._may_map = True
        self._lock = threading.Lock()
        self.follow()

    @property
    def mapped(self) -> bool:
        """Whether the matrix is a file's, which the system may drop from memory and read again."""
        return self._file is not None

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, key: object) -> bool:
        return key in self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._rows))

    def row(self, key: str) -> int | None:
        """The row of a text's vector."""
        return self._rows.get(key)

    def rows(self, keys: Iterable[str]) -> NDArray[np.int64]:
        """(m,): the row of each, -1 where there is none."""
        return np.fromiter((self._rows.get(key, -1) for key in keys), np.int64)

    def follow(self) -> bool:
        """Whether anything has changed; reads only what was appended. StoreError for what is no readable file."""
        with self._lock, reading(self._path) as source:
            now = None if source is None else Stamp.of(os.fstat(source))
            if now == self._stamp and (self._file is None or sidecar.lasts(self._side, self._file)):
                return False
            if source is None:
                self._take(self.matrix[:0], {}, 0)
                self._file = self._memory = None
                sidecar.remove(self._side)
            else:
                try:
                    self._follow(source)
                except HeldError:
                    return False
            self._stamp = now
            return True

    def _follow(self, source: int) -> None:
        if self._may_map and os.fstat(source).st_size >= SMALL and self._follow_file(source):
            self._memory = None
        else:
            self._file = None
            self._follow_in_memory(source)

    def _follow_file(self, source: int) -> bool:
        loaded = sidecar.load(self._side, source, self._weights, self._file, self._rows)
        self._may_map = loaded is not None
        if loaded:
            known = self._file and os.path.samestat(self._file.file, loaded.file)
            self._take(loaded.matrix, loaded.fresh, loaded.skipped, self._rows if known else {})
        self._file = loaded
        return self._may_map

    def _follow_in_memory(self, source: int) -> None:
        if self._memory and goes_on(source, self._memory[1]):
            (matrix, covered), known = self._memory, self._rows
        else:
            matrix, covered, known = InMemory(self._weights.dims), None, {}
        self._memory = None  # should the file fail in the middle, rows without a name are in the matrix
        table = Table(matrix, known)
        reached, torn = read_on(source, covered, self._weights, table)
        self._memory = matrix, reached
        self._take(matrix.rows, table.fresh, reached.skipped + torn, known)

    def _take(self, matrix: Floats, fresh: dict[str, int], skipped: int, known: dict[str, int] | None = None) -> None:
        """The matrix first: no row is named before it can be looked at."""
        self.matrix, self.skipped = matrix, skipped
        if known:
            known.update(fresh)
        self._rows = known or fresh
