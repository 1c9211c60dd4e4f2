"""Passages of one text in many places: what every page repeats, copies of files. The best one stands for all."""

import json
import os
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bankml.library.search.passages import Ids

NAMED = 5  # places that are named; all are counted


@dataclass(frozen=True, slots=True)
class Place:
    """Where a passage of the same text and headings stands."""

    id: int
    path: str  # as of a Hit
    line: int | None
    page: int | None


def distinct(db: sqlite3.Connection, ranked: Sequence[tuple[int, float]], n: int) -> list[tuple[int, float]]:
    """The first n of `ranked`, best first, that are not what one before them is."""
    rows = db.execute(
        "SELECT id, key FROM chunks WHERE id IN (SELECT value FROM json_each(?))",
        (json.dumps([id for id, _ in ranked]),),
    )
    keys = dict(rows.fetchall())
    firsts: dict[str, tuple[int, float]] = {}
    for id, score in ranked:
        if id in keys:  # else words of no passage, which `bankml doctor` tells
            firsts.setdefault(keys[id], (id, score))
    return list(firsts.values())[:n]


def others(db: sqlite3.Connection, id: int, allowed: Ids | None) -> tuple[int, list[Place]]:
    """How many other passages are the same as this one, and where the first of them are.

    Only those that are `allowed`, ids ascending; None: all.
    """
    rows = db.execute(
        "SELECT id FROM chunks WHERE key = (SELECT key FROM chunks WHERE id = ?) AND id <> ? ORDER BY id", (id, id)
    )
    same = [row[0] for row in rows if allowed is None or _among(row[0], allowed)]
    return len(same), [_place(db, one) for one in same[:NAMED]]


def _among(id: int, ids: Ids) -> bool:
    at = int(np.searchsorted(ids, id))
    return at < ids.size and bool(ids[at] == id)


def _place(db: sqlite3.Connection, id: int) -> Place:
    query = "SELECT path, line, page FROM chunks JOIN documents ON documents.id = document_id WHERE chunks.id = ?"
    path, line, page = db.execute(query, (id,)).fetchone()
    return Place(id, os.fsdecode(path), line, page)
