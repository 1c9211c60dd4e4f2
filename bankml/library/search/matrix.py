"""The vectors of a store as matrices to search in: derived from its table, and followed from state to state."""

import sqlite3
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bankml.errors import InputError, StoreError
from bankml.library.search import part as parts_of
from bankml.library.search.part import Part, Rows
from bankml.library.search.passages import NONE, Ids, Mask, Masks, Passages
from bankml.library.search.ranking import NOTHING, Ranking, best
from bankml.nearest import cosines, nearest
from bankml.store import config


class Stamp(NamedTuple):
    """Of which vectors: an id has one and the same vector as long as this does not change."""

    store_id: str
    epoch: int
    fingerprint: str
    dims: int

    @classmethod
    def of(cls, db: sqlite3.Connection, fingerprint: str, dims: int) -> "Stamp":
        """Of the vectors of one recipe in the store as it is now."""
        return cls(config.store_id(db), config.epoch(db), fingerprint, dims)


@dataclass(frozen=True)
class Matrix:
    """Every vector of one recipe that a store has in one state. Unchangeable, for many threads."""

    stamp: Stamp
    state: str
    parts: tuple[Part, ...]
    foreign: Passages  # whose vector is of another recipe

    def __len__(self) -> int:
        return sum(part.alive for part in self.parts)

    def count(self, some: Ids | None = None) -> int:
        """How many of some passages can be found; None: of all."""
        return len(self) if some is None else sum(len(part.rows_of(some)) for part in self.parts)

    def living(self) -> Passages:
        """What can be found."""
        return Passages.joined([NONE, *(part.living() for part in self.parts)])

    def rank(self, query: Rows, k: int, allowed: Ids | None = None, masks: Masks | None = None) -> Ranking:
        """The k passages nearest to a unit vector (dims,), exactly: equal cosines by id. Raises StoreError."""
        masks = masks or Masks()
        found = [self._nearest(part, query, k, part.allowed(allowed, masks)) for part in self.parts if part.alive]
        if not found:
            return NOTHING
        return best(np.concatenate([ids for ids, _ in found]), np.concatenate([scores for _, scores in found]), k)

    def cosines(self, query: Rows, ids: Ids) -> dict[int, float]:
        """Of those passages that have a vector."""
        found: dict[int, float] = {}
        for part in self.parts:
            rows = part.rows_of(ids)
            found |= dict(zip(part.ids[rows].tolist(), cosines(part.rows, rows, query).tolist(), strict=True))
        return found

    @staticmethod
    def _nearest(part: Part, query: Rows, k: int, allowed: Mask | None) -> Ranking:
        try:
            rows, scores = nearest(part.rows, query, k, allowed=allowed)
        except InputError as error:
            raise StoreError(f"a vector cannot be compared ({error}): run `bankml doctor`") from None
        return Ranking(part.ids[rows], scores.astype(np.float64))


def follow(db: sqlite3.Connection, stamp: Stamp, before: Matrix | None) -> Matrix:
    """The matrix of what `db` sees; of `before`, if it is of the same stamp, nothing is read again."""
    state = config.state(db)
    if before is None or before.stamp != stamp:
        part, foreign = parts_of.read(db, Passages.read(db), stamp.fingerprint, stamp.dims, whole=True)
        return Matrix(stamp, state, (part,), foreign)
    if before.state == state:
        return before
    return _brought_up(db, before, state)


def _brought_up(db: sqlite3.Connection, before: Matrix, state: str) -> Matrix:
    """Passages are listed by an index, which takes 30 ms of 100,000; the table of vectors would take 150 MB."""
    stamp, passages = before.stamp, Passages.read(db)
    parts = [part.within(passages) for part in before.parts]
    foreign = before.foreign[before.foreign.within(passages)]
    known = Passages.joined([foreign, *(part.living() for part in parts)])
    missing = passages[~passages.within(known)]
    new, strange = parts_of.read(db, missing, stamp.fingerprint, stamp.dims)
    if new.alive:
        parts.append(new)
    return Matrix(stamp, state, _few(parts), Passages.joined([foreign, strange]))


def _few(parts: list[Part]) -> tuple[Part, ...]:
    """The same rows in few parts: a part is at least twice as large as the next, so each row is copied seldom."""
    kept: list[Part] = []
    for part in parts:
        kept.append(part)
        while len(kept) > 1 and kept[-2].alive < 2 * kept[-1].alive:
            last = kept.pop()
            kept[-1] = parts_of.joined([kept[-1], last])
    return tuple(part for part in kept if part.alive)
