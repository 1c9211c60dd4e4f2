"""The words of passages, as FTS5 keeps them."""

import sqlite3

from bankml.terms import tokens


def insert(db: sqlite3.Connection, chunk_id: int, embedded: str) -> None:
    """The words of a new chunk; they go with it by a trigger."""
    db.execute("INSERT INTO chunks_fts (rowid, terms) VALUES (?, ?)", (chunk_id, " ".join(tokens(embedded))))
