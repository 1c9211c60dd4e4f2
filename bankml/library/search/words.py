"""The arm that ranks passages by words: BM25 over the postings of FTS5, those that were used kept in memory."""

import sqlite3
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from math import log1p

import numpy as np
from numpy.typing import NDArray

from bankml.library.search.passages import Ids, Masks, isin
from bankml.library.search.ranking import NOTHING, Ranking, best
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


@dataclass(frozen=True, slots=True)
class Held:
    """Of a query's terms, those that no passage holds among them, and without those that are left out."""

    weights: NDArray[np.float64]  # (terms,): the idf of each
    holding: NDArray[np.bool_]  # (terms, passages)


class Words:
    """Of one store, asked within its transactions, one after another: not for several threads at once."""

    name = "BM25 (FTS5)"

    def __init__(self, room: int = ROOM, read: float = READ, few: int = FEW) -> None:
        self._room, self._read, self._few = room, read, few
        self._state = ""
        self._total = 0  # passages
        self._lengths: tuple[Ids, NDArray[np.float64]] | None = None
        self._frequencies: dict[str, int] = {}
        self._postings: OrderedDict[str, Postings] = OrderedDict()
        self._size = 0  # of all postings
        self._masks = Masks()

    def follow(self, state: str, total: int) -> None:
        """What is asked next is asked of this state of the store, with so many passages in all."""
        if state != self._state:
            self._frequencies.clear()
            self._postings.clear()
            self._masks = Masks()
            self._state, self._total, self._size, self._lengths = state, total, 0, None

    def terms(self, db: sqlite3.Connection, query: str) -> Terms:
        """What of the query is looked for."""
        counted = {term: count for term in _wanted(query) if (count := self._frequency(db, term))}
        rarest = sorted(counted, key=lambda term: counted[term])
        most = max(self._few, self._read * self._total)
        used = max(1, int(np.searchsorted(np.cumsum([counted[term] for term in rarest]), most, "right")))
        return Terms({term: counted[term] for term in rarest[:used]}, {term: counted[term] for term in rarest[used:]})

    def rank(self, db: sqlite3.Connection, terms: Iterable[str], k: int, allowed: Ids | None) -> Ranking:
        """The k best passages by BM25 as in `bankml.lexical`; equals by id. Only those among `allowed`, ascending."""
        every = [self._of(db, term) for term in terms]
        if not every:
            return NOTHING
        ids, _ = self._norms(db)
        scores = np.zeros(len(ids))
        for places, gains in every:
            scores[places] += gains
        if allowed is not None:
            scores *= self._masks.isin(ids, allowed)
        found = np.flatnonzero(scores)
        return best(ids[found], scores[found], k)

    def held(self, db: sqlite3.Connection, query: str, some: Ids) -> Held:
        """Which of `some` passages (ascending) hold which terms of the query."""
        used = self.terms(db, query).used
        unknown = [term for term in _wanted(query) if not self._frequency(db, term)]
        ids, _ = self._norms(db)
        holding = np.zeros((len(used) + len(unknown), some.size), bool)
        for row, term in zip(holding, used, strict=False):
            row[:] = isin(some, ids[self._of(db, term)[0]])
        weights = np.array([self._idf(count) for count in (*used.values(), *[0] * len(unknown))])
        return Held(weights, holding)

    def is_common(self, db: sqlite3.Connection, term: str) -> bool:
        """Whether at least half of the passages hold it."""
        return self._total > 0 and 2 * self._frequency(db, term) >= self._total

    def _frequency(self, db: sqlite3.Connection, term: str) -> int:
        if term not in self._frequencies:
            self._frequencies[term] = words.frequency(db, term)
        return self._frequencies[term]

    def _of(self, db: sqlite3.Connection, term: str) -> Postings:
        """Places of passages among all, ascending, and what the term adds to the score of each."""
        if term in self._postings:
            self._postings.move_to_end(term)
            return self._postings[term]
        holding, counts = words.postings(db, term)
        ids, norms = self._norms(db)
        there = isin(holding, ids)  # all of them, if nothing is damaged
        holding, counts = holding[there], counts[there]
        idf = self._idf(holding.size)
        places = np.searchsorted(ids, holding)
        found = places, idf * counts * (K1 + 1) / (counts + norms[places])
        self._keep(term, found)
        return found

    def _idf(self, count: int) -> float:
        """Of a term that so many passages hold."""
        return log1p((self._total - count + 0.5) / (count + 0.5))

    def _norms(self, db: sqlite3.Connection) -> tuple[Ids, NDArray[np.float64]]:
        """All passages, ids ascending, and k1 · (1 - b + b · length / mean length) of each."""
        if self._lengths is None:
            ids, lengths = words.lengths(db)
            mean = max(1, int(lengths.sum())) / max(1, self._total)
            self._lengths = ids, np.asarray(K1 * (1 - B + B * lengths / mean), np.float64)
        return self._lengths

    def _keep(self, term: str, found: Postings) -> None:
        self._postings[term] = found
        self._size += found[0].size
        while self._size > self._room:
            self._size -= self._postings.popitem(last=False)[1][0].size


def _wanted(query: str) -> list[str]:
    return list(dict.fromkeys(tokens(query[:CHARS])))[:TERMS]
