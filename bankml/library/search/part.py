"""Rows of a search matrix that were read at once."""

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bankml.library.search.passages import Ids, Mask, Masks, Passages, isin

Rows = NDArray[np.float32]

BATCH = 512  # rows that are read and checked at once; SQLite takes 999 parameters where it is old


@dataclass(frozen=True, slots=True)
class Part:
    """`gone`: rows whose passages were removed since; they stay in their place and are never found."""

    passages: Passages  # n
    rows: Rows  # (n, dims)
    gone: Mask | None = None  # (n,)

    @property
    def ids(self) -> Ids:
        """(n,), ascending."""
        return self.passages.ids

    @property
    def alive(self) -> int:
        """How many rows can be found."""
        return len(self.ids) - (0 if self.gone is None else int(self.gone.sum()))

    def within(self, passages: Passages) -> "Part":
        """The same without the rows of what is not among these."""
        there = self.passages.within(passages)
        return self if there.all() else Part(self.passages, self.rows, ~there)

    def living(self) -> Passages:
        """What can be found."""
        return self.passages if self.gone is None else self.passages[~self.gone]

    def rows_of(self, ids: Ids) -> NDArray[np.int64]:
        """The rows of those of the passages that can be found here."""
        at = np.searchsorted(self.ids, ids[isin(ids, self.ids)])
        return at if self.gone is None else at[~self.gone[at]]

    def allowed(self, allowed: Ids | None, masks: Masks) -> Mask | None:
        """Rows that may be found: of passages among `allowed`, ascending; None where all may."""
        if allowed is None:
            return None if self.gone is None else ~self.gone
        mask = masks.isin(self.ids, allowed)
        return mask if self.gone is None else mask & ~self.gone


def joined(parts: Sequence[Part]) -> Part:
    """All of them as one, without the rows that are gone; one alone that has lost none is itself."""
    if len(parts) == 1 and parts[0].gone is None:
        return parts[0]
    ids, keys = (np.concatenate(each) for each in zip(*((p.living().ids, p.living().keys) for p in parts), strict=True))
    rows = np.concatenate([part.rows if part.gone is None else part.rows[~part.gone] for part in parts])
    if (ids[1:] > ids[:-1]).all():
        return Part(Passages(ids, keys), rows)
    order = np.argsort(ids, kind="stable")
    return Part(Passages(ids[order], keys[order]), rows[order])


def read(
    db: sqlite3.Connection, wanted: Passages, fingerprint: str, dims: int, whole: bool = False
) -> tuple[Part, Passages]:
    """Vectors of passages, and those whose vector is of another recipe, or broken. `whole`: they are all there are.

    A passage without a vector is in neither.
    """
    ids, rows = np.empty(len(wanted), np.int64), np.empty((len(wanted), dims), np.float32)
    foreign: list[int] = []
    n = 0
    for batch in _batches(db, None if whole else wanted.ids):
        there = isin(np.fromiter((row[0] for row in batch), np.int64, len(batch)), wanted.ids)
        known = [row for row, is_there in zip(batch, there, strict=True) if is_there]
        ours = [row for row in known if row[1] == fingerprint and len(row[2]) == 4 * dims]
        vectors = np.frombuffer(b"".join(row[2] for row in ours), "<f4").reshape(len(ours), dims)
        finite = np.isfinite(vectors).all(axis=1)
        kept = np.fromiter((row[0] for row in ours), np.int64, len(ours))[finite]
        ids[n : n + len(kept)], rows[n : n + len(kept)] = kept, vectors[finite]
        n += len(kept)
        foreign += {row[0] for row in known}.difference(kept.tolist())
    strange = np.array(sorted(foreign), np.int64)
    return Part(Passages(ids[:n], wanted.keys_of(ids[:n])), rows[:n]), Passages(strange, wanted.keys_of(strange))


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
