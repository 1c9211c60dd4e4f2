"""The arm that ranks passages by words: BM25 over the postings of FTS5, those that were used kept in memory."""

import sqlite3
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from math import log1p

import numpy as np
from numpy.typing import NDArray

from bankml.library.search.ranking import Ranking, best
from bankml.store import words
from bankml.terms import tokens

Postings = tuple[NDArray[np.int64], NDArray[np.float64]]

K1, B = 1.2, 0.75  # as bankml.lexical, and FTS5
CHARS = 4000  # of a query, as of one that is embedded
TERMS = 64  # of a query
READ = 2  # postings of a query for each passage of the store: of 100,000 they take 100 ms the first time
FEW = 8192  # postings that are read in any case
ROOM = 4_000_000  # postings in memory: 64 MB


@dataclass(frozen=True, slots=True)
class Terms:
    """Those of a query that are known, with the number of passages that hold each; rarest first."""

    used: dict[str, int]
    left_out: dict[str, int]  # the commonest, that would add little and cost much


class Words:
    """Of one store, asked within its transactions, one after another: not for several threads at once."""

    name = "BM25 (FTS5)"

    def __init__(self, room: int = ROOM, read: float = READ, few: int = FEW) -> None:
        self._room, self._read, self._few = room, read, few
        self._generation = -1
        self._total = 0  # passages
        self._norms: NDArray[np.float64] | None = None  # by id
        self._frequencies: dict[str, int] = {}
        self._postings: OrderedDict[str, Postings] = OrderedDict()
        self._size = 0  # of all postings

    def follow(self, generation: int, total: int) -> None:
        """What is asked next is asked of this generation of the store, with so many passages in all."""
        if generation != self._generation:
            self._frequencies.clear()
            self._postings.clear()
            self._generation, self._total, self._size, self._norms = generation, total, 0, None

    def terms(self, db: sqlite3.Connection, query: str) -> Terms:
        """What of the query is looked for."""
        wanted = list(dict.fromkeys(tokens(query[:CHARS])))[:TERMS]
        counted = {term: count for term in wanted if (count := self._frequency(db, term))}
        rarest = sorted(counted, key=lambda term: counted[term])
        most = max(self._few, self._read * self._total)
        used = max(1, int(np.searchsorted(np.cumsum([counted[term] for term in rarest]), most, "right")))
        return Terms({term: counted[term] for term in rarest[:used]}, {term: counted[term] for term in rarest[used:]})

    def rank(self, db: sqlite3.Connection, terms: Iterable[str], k: int, allowed: NDArray[np.bool_] | None) -> Ranking:
        """The k best passages by BM25 as in `bankml.lexical`; equals by id. Only those whose `allowed[id]` is true."""
        every = [self._of(db, term) for term in terms]
        scores = np.zeros(1 + max((int(ids[-1]) for ids, _ in every if ids.size), default=0))  # by id
        for ids, gains in every:
            scores[ids] += gains
        if allowed is not None:
            scores = scores[: allowed.size] * allowed[: scores.size]
        found = np.flatnonzero(scores)
        return best(found, scores[found], k)

    def is_common(self, db: sqlite3.Connection, term: str) -> bool:
        """Whether at least half of the passages hold it."""
        return self._total > 0 and 2 * self._frequency(db, term) >= self._total

    def _frequency(self, db: sqlite3.Connection, term: str) -> int:
        if term not in self._frequencies:
            self._frequencies[term] = words.frequency(db, term)
        return self._frequencies[term]

    def _of(self, db: sqlite3.Connection, term: str) -> Postings:
        """Ascending ids and what the term adds to the score of each."""
        if term in self._postings:
            self._postings.move_to_end(term)
            return self._postings[term]
        ids, counts = words.postings(db, term)
        idf = log1p((self._total - ids.size + 0.5) / (ids.size + 0.5))
        found = ids, idf * counts * (K1 + 1) / (counts + self._norms_of(db)[ids])
        self._keep(term, found)
        return found

    def _norms_of(self, db: sqlite3.Connection) -> NDArray[np.float64]:
        """k1 · (1 - b + b · length / mean length) of each passage, by id."""
        if self._norms is None:
            lengths = words.lengths(db)
            mean = max(1, int(lengths.sum())) / max(1, self._total)
            self._norms = np.asarray(K1 * (1 - B + B * lengths / mean), np.float64)
        return self._norms

    def _keep(self, term: str, found: Postings) -> None:
        self._postings[term] = found
        self._size += found[0].size
        while self._size > self._room:
            self._size -= self._postings.popitem(last=False)[1][0].size
