"""The arm that ranks passages by meaning: exactly, over the matrix of a store's vectors."""

import sqlite3
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from bankml.embedders.embedder import Floats
from bankml.errors import StoreError
from bankml.library import sidecar
from bankml.library.matrix import Matrix, Stamp, follow
from bankml.library.ranking import Ranking
from bankml.store import Store

MAPPED, READ = "mapped", "read from the table"


class Meaning:
    """Of one store, asked within its transactions, one after another: not for several threads at once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._place = sidecar.place(store.path)
        self._loaded: Matrix | None = None  # what the file beside the store holds
        self._matrix: Matrix | None = None
        self.source = READ

    def follow(self, db: sqlite3.Connection, fingerprint: str, dims: int) -> Matrix:
        """The vectors of one recipe that `db` sees. What this process or the last has read is not read again."""
        stamp = Stamp.of(db, fingerprint, dims)
        if self._matrix is None or self._matrix.stamp != stamp:
            self._loaded = self._matrix = sidecar.load(self._place, self._store.path, stamp)
            self.source = MAPPED if self._loaded else READ
        self._matrix = follow(db, stamp, self._matrix)
        return self._matrix

    def rank(
        self, db: sqlite3.Connection, matrix: Matrix, query: Floats, k: int, allowed: NDArray[np.bool_] | None
    ) -> tuple[Matrix, Ranking]:
        """The k nearest of `matrix`, or of the same read anew where the file that it is mapped from was damaged."""
        try:
            return matrix, matrix.rank(query, k, allowed)
        except StoreError:
            if self._loaded is None:
                raise
        sidecar.remove(self._place)
        self._loaded, self.source = None, READ
        self._matrix = follow(db, matrix.stamp, None)
        return self._matrix, self._matrix.rank(query, k, allowed)

    def keep(self) -> None:
        """Leaves the matrix beside the store for the next process, where it is worth it and can be done."""
        if self._matrix and not self._store.read_only and sidecar.lacks(self._loaded, self._matrix):
            with suppress(OSError, StoreError):
                sidecar.save(self._place, self._store.path, self._matrix)
                self._loaded = None
