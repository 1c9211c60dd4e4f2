"""The arm that ranks exchanges by meaning: a cache's vectors, and which exchange each belongs to."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bankml.cache import Cache, key
from bankml.embedders.embedder import Embedder
from bankml.history.exchange import Exchange
from bankml.history.indexing import cache_path
from bankml.nearest import cosines, nearest

Ids = NDArray[np.int64]
Floats = NDArray[np.float32]


class Meaning:
    """Not for several threads at once."""

    def __init__(self, history: Path, embedder: Embedder) -> None:
        self.embedder = embedder
        self._vectors = Cache(cache_path(history)).vectors(embedder.digest, embedder.dims)
        self._keys: list[str] = []
        self._rows: Ids = np.empty(0, np.int64)  # (exchanges,): the row of each, -1 where it has none
        self._by_row: Ids = np.empty(0, np.int64)  # exchanges that have a row, in the order of rows
        self._allowed: NDArray[np.bool_] = np.empty(0, bool)  # (rows,)
        self._known = False  # that the three are of these keys

    def add(self, exchange: Exchange) -> None:
        """The next exchange."""
        self._keys.append(key(exchange.embedded(self.embedder.document_prefix)))
        self._known = False

    def reset(self) -> None:
        """Of another history, or of the same anew."""
        self._keys.clear()
        self._known = False

    def follow(self) -> bool:
        """Takes in what was embedded meanwhile; whether anything is other than before."""
        if changed := self._vectors.follow() or not self._known:
            self._rows = self._vectors.rows(self._keys)
            there = np.flatnonzero(self._rows >= 0)
            self._by_row = there[np.argsort(self._rows[there], kind="stable")]
            self._allowed = np.zeros(len(self._vectors.matrix), bool)
            self._allowed[self._rows[there]] = True
            self._known = True
        return changed

    @property
    def embedded(self) -> int:
        """Exchanges that have a vector."""
        return len(self._by_row)

    @property
    def skipped(self) -> int:
        """Lines of the cache that are no vector."""
        return self._vectors.skipped

    @property
    def missing(self) -> bool:
        """Whether an exchange has none."""
        return len(self._by_row) < len(self._keys)

    def rank(self, query: Floats, k: int) -> list[int]:
        """The k exchanges nearest to a unit vector (dims,); of equal cosines the earlier row, then exchange, first."""
        if not self.embedded:
            return []
        rows, _ = nearest(self._vectors.matrix, query, k, allowed=self._allowed)
        order = self._rows[self._by_row]
        first, end = np.searchsorted(order, rows, "left"), np.searchsorted(order, rows, "right")
        alike = [self._by_row[a:b] for a, b in zip(first, end, strict=True)]  # exchanges of one text share a row
        return [int(number) for number in np.concatenate(alike)[:k]]

    def cosines(self, query: Floats, numbers: list[int]) -> dict[int, float]:
        """Of those exchanges that have a vector."""
        embedded = [number for number in numbers if self._rows[number] >= 0]
        if not embedded:
            return {}
        found = cosines(self._vectors.matrix, self._rows[embedded], query)
        return dict(zip(embedded, found.tolist(), strict=True))
