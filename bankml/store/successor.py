"""The vectors that are to succeed those of a store: built beside them in many transactions, put in their place in one.

Until then nobody searches them. What an interrupted run has made is kept for the next one of the same recipe.
"""

import sqlite3
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bankml.errors import BusyError
from bankml.store import config, vectors
from bankml.store.bound import Bound
from bankml.store.passage import embedded

TABLE: vectors.Table = "chunks_vec_next"
KEYS = ("next_model_name", "next_embedding_dim", "next_digest", "next_fingerprint")
TRUNCATED = "next_truncated"


@dataclass(frozen=True, slots=True)
class Unfinished:
    """What was begun and not put in place. `chunks`: how many have their new vector; `truncated`: of these, cut."""

    bound: Bound
    chunks: int
    truncated: int


def unfinished(db: sqlite3.Connection) -> Unfinished | None:
    """None where nothing was begun."""
    if (bound := _begun(db)) is None:
        return None
    count = db.execute(f"SELECT count(*) FROM {TABLE}").fetchone()[0]
    return Unfinished(bound, count, config.number(db, TRUNCATED))


def begin(db: sqlite3.Connection, bound: Bound) -> Unfinished:
    """What an earlier run has made for this very recipe, else an empty table for it."""
    found = unfinished(db)
    if found and _same(found.bound, bound):
        return found
    vectors.create(db, bound.dims, TABLE)
    for key, value in zip(KEYS, (bound.model_name, str(bound.dims), bound.digest, bound.fingerprint), strict=True):
        config.put(db, key, value)
    config.put(db, TRUNCATED, "0")
    return Unfinished(bound, 0, 0)


def check(db: sqlite3.Connection, bound: Bound) -> None:
    """Raises BusyError where what was begun is of another recipe, or was discarded."""
    begun = _begun(db)
    if begun is None or not _same(begun, bound):
        raise BusyError("the knowledge base is being reindexed by another process: run this again when that has ended")


def lacking(db: sqlite3.Connection, bound: Bound) -> list[str]:
    """The keys of chunks without a new vector of this recipe, once each, in the chunks' order. Raises BusyError."""
    check(db, bound)
    rows = db.execute(
        f"""SELECT key FROM chunks WHERE id NOT IN (SELECT chunk_id FROM {TABLE} WHERE fingerprint = ?)
        GROUP BY key ORDER BY min(id)""",
        (bound.fingerprint,),
    )
    return [key for (key,) in rows]


def texts(db: sqlite3.Connection, keys: Sequence[str]) -> dict[str, str]:
    """What is to be embedded, by key, of those that still have a chunk."""
    found = {}
    for key in keys:
        for text, heading in db.execute("SELECT text, heading FROM chunks WHERE key = ? LIMIT 1", (key,)):
            found[key] = embedded(heading, text)
    return found


def insert(
    db: sqlite3.Connection, keys: Sequence[str], matrix: NDArray[np.float32], bound: Bound, truncated: Collection[int]
) -> int:
    """Row i of `matrix` (n, dims) for every chunk that has key i now; how many these are.

    `truncated`: the rows whose text was longer than the model reads. Raises BusyError.
    """
    check(db, bound)
    rows = [
        (chunk_id, number)
        for number, key in enumerate(keys)
        for (chunk_id,) in db.execute("SELECT id FROM chunks WHERE key = ?", (key,))
    ]
    vectors.insert(db, [chunk_id for chunk_id, _ in rows], bound.fingerprint, matrix[[n for _, n in rows]], TABLE)
    if cut := sum(number in truncated for _, number in rows):
        config.put(db, TRUNCATED, str(config.number(db, TRUNCATED) + cut))
    return len(rows)


def finish(db: sqlite3.Connection, bound: Bound) -> int:
    """The new vectors in the place of the old, with the model that they are of; how many are of a text that was cut.

    Raises BusyError.
    """
    check(db, bound)
    truncated = config.number(db, TRUNCATED)
    vectors.swap(db)
    bound.write(db)
    _forget(db)
    return truncated


def discard(db: sqlite3.Connection) -> None:
    """As if nothing had been begun."""
    db.execute(f"DROP TABLE IF EXISTS {TABLE}")
    _forget(db)


def _begun(db: sqlite3.Connection) -> Bound | None:
    name, dims, digest, fingerprint = (config.get(db, key) for key in KEYS)
    if not (name and dims and digest and fingerprint and vectors.exists(db, TABLE)):
        return None
    return Bound(name, config.number(db, KEYS[1]), digest, fingerprint)


def _same(one: Bound, other: Bound) -> bool:
    return (one.fingerprint, one.dims) == (other.fingerprint, other.dims)


def _forget(db: sqlite3.Connection) -> None:
    for key in (*KEYS, TRUNCATED):
        config.put(db, key, None)
