"""The arm that ranks passages by meaning: exactly, over the matrix of a store's vectors, or nearly where it is huge."""

import sqlite3
from contextlib import suppress

from bankml.embedders.embedder import Floats
from bankml.errors import StoreError
from bankml.library.search import approximate, sidecar
from bankml.library.search.approximate import Approximate
from bankml.library.search.matrix import Matrix, Stamp, follow
from bankml.library.search.passages import Ids, Masks, isin
from bankml.library.search.ranking import Ranking
from bankml.store import Store

MAPPED, READ = "mapped", "read from the table"


class Meaning:
    """Of one store, asked within its transactions, one after another: not for several threads at once.

    `large`: so many vectors are searched by an index of neighbours, where usearch is installed and there is one.
    """

    def __init__(self, store: Store, large: int = approximate.LARGE) -> None:
        self._store = store
        self._large = large
        self._place = sidecar.place(store.path)
        self._loaded: Matrix | None = None  # what the file beside the store holds
        self._matrix: Matrix | None = None
        self._near: Approximate | None = None
        self._masks = Masks()
        self.source = READ
        self.recall = 1.0  # of the last search; below 1 it is what was measured when the index was made

    def follow(self, db: sqlite3.Connection, fingerprint: str, dims: int) -> Matrix:
        """The vectors of one recipe that `db` sees. What this process or the last has read is not read again."""
        stamp = Stamp.of(db, fingerprint, dims)
        if self._matrix is None or self._matrix.stamp != stamp:
            self._loaded = self._matrix = sidecar.load(self._place, self._store.path, stamp)
            self.source = MAPPED if self._loaded else READ
            self._near = None
        self._matrix = follow(db, stamp, self._matrix)
        if self._near is None and len(self._matrix) > self._large:
            self._near = approximate.load(approximate.place(self._store.path), self._store.path, stamp)
        return self._matrix

    def rank(
        self, db: sqlite3.Connection, matrix: Matrix, query: Floats, k: int, allowed: Ids | None
    ) -> tuple[Matrix, Ranking]:
        """The k nearest of `matrix`, or of the same read anew where the file that it is mapped from was damaged."""
        try:
            return matrix, self._rank(matrix, query, k, allowed)
        except StoreError:
            if self._loaded is None:
                raise
        sidecar.remove(self._place)
        self._loaded, self.source = None, READ
        self._matrix = follow(db, matrix.stamp, None)
        return self._matrix, self._rank(self._matrix, query, k, allowed)

    def keep(self) -> None:
        """Leaves the matrix beside the store for the next process, where it is worth it and can be done."""
        if self._matrix and not self._store.read_only and sidecar.lacks(self._loaded, self._matrix):
            with suppress(OSError, StoreError):
                sidecar.save(self._place, self._store.path, self._matrix)
                self._loaded = None

    def wants_neighbours(self) -> bool:
        """Whether an index should be made: there are so many vectors, usearch is here, and what there is is old."""
        if self._matrix is None or self._store.read_only or len(self._matrix) <= self._large:
            return False
        return approximate.installed() and not (self._near and self._near.knows(self._matrix))

    def make_neighbours(self) -> None:
        """Makes the index, where it can be written."""
        if self._matrix:
            with suppress(OSError, StoreError):
                self._near = approximate.make(approximate.place(self._store.path), self._store.path, self._matrix)

    def _rank(self, matrix: Matrix, query: Floats, k: int, allowed: Ids | None) -> Ranking:
        if self._near and self._near.knows(matrix) and (found := self._nearly(self._near, matrix, query, k, allowed)):
            self.recall = self._near.recall
            return found
        self.recall = 1.0
        return matrix.rank(query, k, allowed, self._masks)

    def _nearly(self, near: Approximate, matrix: Matrix, query: Floats, k: int, allowed: Ids | None) -> Ranking | None:
        """By the index, which knows no filter: of twice as many those that pass, if most passages do and k are left."""
        if allowed is None:
            return near.rank(matrix, query, k)
        if 2 * allowed.size < len(matrix):
            return None
        found = near.rank(matrix, query, 2 * k)
        passing = isin(found.ids, allowed)
        return Ranking(found.ids[passing][:k], found.scores[passing][:k]) if passing.sum() >= k else None
