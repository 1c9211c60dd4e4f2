"""The words of passages, as FTS5 keeps them."""

import sqlite3

import numpy as np
from numpy.typing import NDArray

from bankml.terms import tokens

Postings = tuple[NDArray[np.int64], NDArray[np.float64]]
POSTING = np.dtype([("id", np.int64), ("score", np.float64)])


def insert(db: sqlite3.Connection, chunk_id: int, embedded: str) -> None:
    """The words of a new chunk; they go with it by a trigger."""
    db.execute("INSERT INTO chunks_fts (rowid, terms) VALUES (?, ?)", (chunk_id, " ".join(tokens(embedded))))


def frequency(db: sqlite3.Connection, term: str) -> int:
    """How many chunks hold a term of `bankml.terms`."""
    return int(db.execute("SELECT count(*) FROM chunks_fts WHERE chunks_fts MATCH ?", (_quoted(term),)).fetchone()[0])


def postings(db: sqlite3.Connection, term: str) -> Postings:
    """The chunks that hold a term, by id, and what FTS5's bm25 gives the term in each: the more the better."""
    rows = db.execute("SELECT rowid, -bm25(chunks_fts) FROM chunks_fts WHERE chunks_fts MATCH ?", (_quoted(term),))
    found = np.fromiter(rows, POSTING)
    return np.ascontiguousarray(found["id"]), np.ascontiguousarray(found["score"])


def _quoted(term: str) -> str:
    """A term as FTS5's language has a string: whatever it holds, it is none of that language's words."""
    return '"' + term.replace('"', '""') + '"'
