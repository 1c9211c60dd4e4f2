"""Vectors of chunks, written: the table that is the truth, and the one that is built beside it."""

import sqlite3
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bankml.store import config

FLOAT = 4  # bytes
Table = Literal["chunks_vec", "chunks_vec_next"]


def create(db: sqlite3.Connection, dims: int, table: Table = "chunks_vec") -> None:
    """The table, empty, for vectors of this many numbers; what it held is gone."""
    db.execute(f"DROP TABLE IF EXISTS {table}")
    db.execute(
        f"""CREATE TABLE {table} (
            chunk_id INTEGER PRIMARY KEY REFERENCES chunks (id) ON DELETE CASCADE,
            fingerprint TEXT NOT NULL,
            vector BLOB NOT NULL CHECK (typeof (vector) = 'blob' AND length (vector) = {FLOAT * dims:d})
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


def swap(db: sqlite3.Connection) -> None:
    """What was built beside becomes the truth."""
    db.execute("DROP TABLE chunks_vec")
    db.execute("ALTER TABLE chunks_vec_next RENAME TO chunks_vec")
    config.raise_epoch(db)


def _known(db: sqlite3.Connection, ids: Sequence[int]) -> bool:
    """Whether any of the chunks has a vector."""
    return any(db.execute("SELECT 1 FROM chunks_vec WHERE chunk_id = ?", (chunk_id,)).fetchone() for chunk_id in ids)
