"""Vectors of chunks, written: the table that is the truth, and the one that is built beside it."""

import json
import sqlite3
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bankml.store import config

FLOAT = 4  # bytes
REPLACED = "chunks_vec_old"
SWEPT = 5000  # rows of a transaction: tens of milliseconds
Table = Literal["chunks_vec", "chunks_vec_next"]


def create(db: sqlite3.Connection, dims: int, table: Table = "chunks_vec") -> None:
    """The table, empty, for vectors of this many numbers; what it held is gone."""
    db.execute(f"DROP TABLE IF EXISTS {table}")
    db.execute(
        f"""CREATE TABLE {table} (
            chunk_id INTEGER PRIMARY KEY REFERENCES chunks (id) ON DELETE CASCADE,
            fingerprint TEXT NOT NULL,
            vector BLOB NOT NULL CHECK (typeof (vector) = 'blob' AND length (vector) = {FLOAT * dims:d}),
            UNIQUE (fingerprint, chunk_id)
        )"""
    )
    if table == "chunks_vec":
        config.raise_epoch(db)


def insert(
    db: sqlite3.Connection,
    ids: Sequence[int],
    fingerprint: str,
    matrix: NDArray[np.float32],
    table: Table = "chunks_vec",
) -> None:
    """The rows of `matrix` (n, dims) as the vectors of chunks that have none of this recipe yet.

    A row of another recipe is replaced, which raises the epoch.
    """
    rows = np.ascontiguousarray(matrix, "<f4")
    if table == "chunks_vec" and _known(db, ids):
        config.raise_epoch(db)
    db.executemany(
        f"INSERT OR REPLACE INTO {table} (chunk_id, fingerprint, vector) VALUES (?, ?, ?)",
        ((chunk_id, fingerprint, row.tobytes()) for chunk_id, row in zip(ids, rows, strict=True)),
    )


def count(db: sqlite3.Connection, ids: Sequence[int], fingerprint: str) -> int:
    """How many of these chunks have a vector of this recipe."""
    found = db.execute(
        "SELECT count(*) FROM chunks_vec WHERE fingerprint = ? AND chunk_id IN (SELECT value FROM json_each(?))",
        (fingerprint, json.dumps(list(ids))),
    )
    return int(found.fetchone()[0])


def exists(db: sqlite3.Connection, table: str) -> bool:
    """Whether there is such a table."""
    found = db.execute("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?", (table,)).fetchone()
    return found is not None


def swap(db: sqlite3.Connection) -> None:
    """What was built beside becomes the truth. What it replaces waits for `sweep`.

    Dropping 100,000 vectors of 384 numbers here would keep other writers waiting 200 times as long as the rest does.
    """
    db.execute(f"DROP TABLE IF EXISTS {REPLACED}")
    db.execute(f"ALTER TABLE chunks_vec RENAME TO {REPLACED}")
    db.execute("ALTER TABLE chunks_vec_next RENAME TO chunks_vec")
    config.raise_epoch(db)


def sweep(db: sqlite3.Connection) -> bool:
    """Removes some of what was replaced; whether there may be more."""
    if not exists(db, REPLACED):
        return False
    db.execute(f"DELETE FROM {REPLACED} WHERE chunk_id IN (SELECT chunk_id FROM {REPLACED} LIMIT {SWEPT})")
    if more := db.execute(f"SELECT 1 FROM {REPLACED} LIMIT 1").fetchone() is not None:
        return more
    db.execute(f"DROP TABLE {REPLACED}")
    return False


def _known(db: sqlite3.Connection, ids: Sequence[int]) -> bool:
    """Whether any of the chunks has a vector."""
    return any(db.execute("SELECT 1 FROM chunks_vec WHERE chunk_id = ?", (chunk_id,)).fetchone() for chunk_id in ids)
