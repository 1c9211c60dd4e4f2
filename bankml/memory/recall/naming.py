"""The records that a query names exactly, looked for in the store."""

import json
import sqlite3
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from bankml.memory.recall.identifiers import DIGITS, Identifiers
from bankml.store import words
from bankml.store.record import PREFIX
from bankml.store.records import file_name
from bankml.terms import tokens

SHARE = 4  # a name that a quarter of the records bear identifies none of them,
FEW = 16  # if these are more than a glance takes in
MANY = 4096  # records that cite a file, of which nobody is looked at


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


def names(asked: Identifiers) -> list[str]:
    """Of the files that may be named, without their folders; each once."""
    return sorted({file_name(name.encode("utf-8", "replace")) for name in asked.names})


def citing(db: sqlite3.Connection, name: str) -> NDArray[np.int64]:
    """The documents, ascending, of the records that cite a file of this name; none of a name that `MANY` bear."""
    rows = db.execute("SELECT record_id FROM cited WHERE name = ? LIMIT ?", (name, MANY)).fetchall()
    if len(rows) == MANY:
        return np.zeros(0, np.int64)
    found = db.execute(
        "SELECT document_id FROM records WHERE id IN (SELECT value FROM json_each(?)) ORDER BY 1",
        (json.dumps([row[0] for row in rows]),),
    )
    return np.fromiter((row[0] for row in found), np.int64)


def holding(db: sqlite3.Connection, literal: str, passages: int) -> NDArray[np.int64]:
    """The passages, ascending, that may hold this; none of what is common among so many."""
    if not (terms := tokens(literal)):
        return np.zeros(0, np.int64)
    most = common(passages) + 1
    found = words.holding(db, terms, most)
    return found[:0] if found.size == most else found


def common(number: int) -> int:
    """What more than so many of this number bear names none of them."""
    return max(number // SHARE, FEW)
