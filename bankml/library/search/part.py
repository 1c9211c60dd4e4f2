"""Rows of a search matrix that were read at once."""

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]
Rows = NDArray[np.float32]

BATCH = 512  # rows that are read and checked at once; SQLite takes 999 parameters where it is old


@dataclass(frozen=True, slots=True)
class Part:
    """`gone`: rows whose passages were removed since; they stay in their place and are never found."""

    ids: Ids  # (n,) ascending
    rows: Rows  # (n, dims)
    gone: NDArray[np.bool_] | None = None  # (n,)

    @property
    def alive(self) -> int:
        """How many rows can be found."""
        return len(self.ids) - (0 if self.gone is None else int(self.gone.sum()))

    def within(self, ids: Ids) -> "Part":
        """The same without the rows of passages that are not among `ids`, ascending."""
        there = isin(self.ids, ids)
        return self if there.all() else Part(self.ids, self.rows, ~there)

    def living(self) -> Ids:
        """The passages that can be found."""
        return self.ids if self.gone is None else self.ids[~self.gone]

    def rows_of(self, ids: Ids) -> NDArray[np.int64]:
        """The rows of those of the passages that can be found here."""
        at = np.searchsorted(self.ids, ids[isin(ids, self.ids)])
        return at if self.gone is None else at[~self.gone[at]]

    def allowed(self, allowed: NDArray[np.bool_] | None) -> NDArray[np.bool_] | None:
        """Rows that may be found: of passages whose `allowed[id]` is true; None where all may."""
        if allowed is None:
            return None if self.gone is None else ~self.gone
        mask = np.zeros(len(self.ids), bool)
        known = self.ids < allowed.size
        mask[known] = allowed[self.ids[known]]
        return mask if self.gone is None else mask & ~self.gone


def isin(some: Ids, others: Ids) -> NDArray[np.bool_]:
    """Which of `some` are among the others, which are ascending."""
    if not others.size:
        return np.zeros(some.size, bool)
    at = np.searchsorted(others, some)
    at[at == others.size] = 0
    return np.asarray(others[at] == some)


def joined(parts: Sequence[Part]) -> Part:
    """All of them as one, without the rows that are gone; one alone that has lost none is itself."""
    if len(parts) == 1 and parts[0].gone is None:
        return parts[0]
    ids = np.concatenate([part.living() for part in parts])
    rows = np.concatenate([part.rows if part.gone is None else part.rows[~part.gone] for part in parts])
    if (ids[1:] > ids[:-1]).all():
        return Part(ids, rows)
    order = np.argsort(ids, kind="stable")
    return Part(ids[order], rows[order])


def read(db: sqlite3.Connection, wanted: Ids | None, fingerprint: str, dims: int) -> tuple[Part, Ids]:
    """Vectors of passages (`wanted` ascending; None: of all), and those whose vector is of another recipe, or broken.

    A passage without a vector is in neither.
    """
    room = _count(db) if wanted is None else len(wanted)
    ids, rows = np.empty(room, np.int64), np.empty((room, dims), np.float32)
    foreign: list[int] = []
    n = 0
    for batch in _batches(db, wanted):
        ours = [row for row in batch if row[1] == fingerprint and len(row[2]) == 4 * dims]
        vectors = np.frombuffer(b"".join(row[2] for row in ours), "<f4").reshape(len(ours), dims)
        finite = np.isfinite(vectors).all(axis=1)
        kept = np.fromiter((row[0] for row in ours), np.int64, len(ours))[finite]
        ids[n : n + len(kept)], rows[n : n + len(kept)] = kept, vectors[finite]
        n += len(kept)
        foreign += {row[0] for row in batch}.difference(kept.tolist())
    return Part(ids[:n], rows[:n]), np.array(sorted(foreign), np.int64)


def _count(db: sqlite3.Connection) -> int:
    return int(db.execute("SELECT count(*) FROM chunks_vec").fetchone()[0])


def _batches(db: sqlite3.Connection, wanted: Ids | None) -> Iterator[list[tuple[int, str, bytes]]]:
    """Ascending by id."""
    columns = "SELECT chunk_id, fingerprint, vector FROM chunks_vec"
    if wanted is None:
        cursor = db.execute(f"{columns} ORDER BY chunk_id")
        while batch := cursor.fetchmany(BATCH):
            yield batch
        return
    for start in range(0, len(wanted), BATCH):
        some = wanted[start : start + BATCH].tolist()
        marks = ", ".join("?" * len(some))
        yield db.execute(f"{columns} WHERE chunk_id IN ({marks}) ORDER BY chunk_id", some).fetchall()
