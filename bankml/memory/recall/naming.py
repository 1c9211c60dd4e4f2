"""The records that a query names exactly, looked for in the store."""

import json
import sqlite3
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from bankml.library.search.passages import isin
from bankml.memory.recall.identifiers import DIGITS, Identifiers
from bankml.store import words
from bankml.store.record import PREFIX
from bankml.store.records import file_name
from bankml.terms import tokens

SHARE = 4  # a name that a quarter of the records bear identifies none of them,
FEW = 16  # if these are more than a glance takes in


def by_id(db: sqlite3.Connection, ids: Iterable[str]) -> dict[str, int]:
    """The records of these ids, or whose ids alone begin so, each with its document."""
    found: dict[str, int] = {}
    for start in ids:
        whole = len(start) == len(PREFIX) + DIGITS
        rows = db.execute(
            "SELECT id, document_id FROM records WHERE id >= ? AND id <= ? LIMIT 2",
            (start, start if whole else start + "g"),
        ).fetchall()
        found |= dict(rows) if len(rows) == 1 else {}
    return found


def by_name(db: sqlite3.Connection, asked: Identifiers, passing: NDArray[np.int64]) -> NDArray[np.int64]:
    """The documents (m,) of those that `passing` has whose records cite or may hold what is asked for; ascending."""
    found = np.array(sorted({*_citing(db, asked.names), *_holding(db, asked.literals)}), np.int64)
    found = found[isin(found, passing)]
    return found[:0] if found.size > max(passing.size / SHARE, FEW) else found


def _citing(db: sqlite3.Connection, names: Iterable[str]) -> Iterable[int]:
    rows = db.execute(
        """SELECT r.document_id FROM json_each(?) AS wanted JOIN cited ON cited.name = wanted.value
        JOIN records r ON r.id = cited.record_id""",
        (json.dumps(sorted({file_name(name.encode("utf-8", "replace")) for name in names})),),
    )
    return (row[0] for row in rows)


def _holding(db: sqlite3.Connection, literals: Iterable[str]) -> Iterable[int]:
    for literal in literals:
        if terms := tokens(literal):
            yield from words.records_with(db, terms)
