"""The words of passages, as FTS5 keeps them.

What it holds is read in columns, by SQLite's own aggregates: a hundred thousand rows take 16 ms so, and 120 ms one by
one with FTS5's bm25.
"""

import sqlite3
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bankml.terms import tokens

Integers = NDArray[np.int64]

VOCABULARY = "CREATE VIRTUAL TABLE IF NOT EXISTS temp.chunks_terms USING fts5vocab (main, chunks_fts, instance)"


def insert(db: sqlite3.Connection, chunk_id: int, embedded: str) -> None:
    """The words of a new chunk; they go with it by a trigger."""
    db.execute("INSERT INTO chunks_fts (rowid, terms) VALUES (?, ?)", (chunk_id, " ".join(tokens(embedded))))


def frequency(db: sqlite3.Connection, term: str) -> int:
    """How many chunks hold a term of `bankml.terms`."""
    return int(db.execute("SELECT count(*) FROM chunks_fts WHERE chunks_fts MATCH ?", (_quoted(term),)).fetchone()[0])


def holding(db: sqlite3.Connection, terms: Sequence[str], most: int) -> Integers:
    """The chunks, ids ascending, that hold these terms one behind the other; of more than `most` some `most`."""
    (listed,) = db.execute(
        "SELECT group_concat(rowid) FROM (SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH ? LIMIT ?)",
        (_quoted(" ".join(terms)), most),
    ).fetchone()
    return np.sort(_numbers(listed))


def postings(db: sqlite3.Connection, term: str) -> tuple[Integers, Integers]:
    """The chunks that hold a term, ids ascending, and how often each holds it."""
    db.execute(VOCABULARY)
    listed = db.execute("SELECT group_concat(doc) FROM chunks_terms WHERE term = ?", (term,)).fetchone()[0]
    found = np.sort(_numbers(listed))  # a chunk as often as it holds the term
    firsts = np.flatnonzero(np.diff(found, prepend=-1))
    return found[firsts], np.diff(firsts, append=len(found))


def lengths(db: sqlite3.Connection) -> tuple[Integers, Integers]:
    """The chunks that have words, ids ascending, and how many terms each has."""
    ids, sizes = db.execute("SELECT group_concat(id), group_concat(hex(sz), '') FROM chunks_fts_docsize").fetchone()
    if ids is None:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    numbers = _numbers(ids)
    order = np.argsort(numbers, kind="stable")  # they are in order, nearly always
    return numbers[order], varints(bytes.fromhex(sizes))[order]


def varints(content: bytes) -> Integers:
    """SQLite's integers of variable length: seven bits a byte, the highest first, the last byte below 128.

    https://www.sqlite.org/fts5.html#the_document_sizes_table_docsize_table_ has one for each column of a row.
    """
    each = np.frombuffer(content, np.uint8).astype(np.int64)
    ends = np.flatnonzero(each < 128)
    starts = np.concatenate([[0], ends[:-1] + 1])
    shifts = 7 * (np.repeat(ends, ends - starts + 1) - np.arange(len(each)))
    return np.add.reduceat((each & 127) << shifts, starts)


def _numbers(listed: str | None) -> Integers:
    return np.fromstring(listed or "", np.int64, sep=",")


def _quoted(phrase: str) -> str:
    """A string to FTS5, whatever it holds."""
    return '"' + phrase.replace('"', '""') + '"'
