"""Chunks and their vectors, as the pipeline asks the store for them."""

import sqlite3
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from bankml.store import vectors
from bankml.store.passage import embedded


class Text(NamedTuple):
    """What is embedded of a chunk."""

    embedded: str
    tokens: int


def lacking(db: sqlite3.Connection, document_id: int, fingerprint: str) -> dict[str, Text]:
    """By key, the texts of a document's chunks that have no vector of this recipe."""
    rows = db.execute(
        f"SELECT c.key, c.heading, c.text, c.tokens {_LACKING} ORDER BY c.seq", (fingerprint, document_id)
    )
    return {key: Text(embedded(heading, text), tokens) for key, heading, text, tokens in rows}


def known(db: sqlite3.Connection, keys: Iterable[str], fingerprint: str) -> dict[str, bytes]:
    """By key, the vectors of this recipe that any document's chunks have."""
    found = {}
    for key in keys:
        row = db.execute(
            """SELECT v.vector FROM chunks c JOIN chunks_vec v ON v.chunk_id = c.id
            WHERE c.key = ? AND v.fingerprint = ? LIMIT 1""",
            (key, fingerprint),
        ).fetchone()
        if row is not None:
            found[key] = row[0]
    return found


class Filled(NamedTuple):
    """Chunks of a document that got a vector now, and those that lack one still."""

    filled: int
    lacking: int


def fill(db: sqlite3.Connection, document_id: int, fingerprint: str | None, made: Mapping[str, bytes]) -> Filled:
    """Stores the vectors of a document's chunks that lack one; without a recipe nothing is stored, only counted."""
    rows = db.execute(f"SELECT c.id, c.key {_LACKING}", (fingerprint, document_id)).fetchall()
    found = [(chunk_id, made[key]) for chunk_id, key in rows if key in made]
    if found and fingerprint:
        matrix = np.frombuffer(b"".join(vector for _, vector in found), "<f4").reshape(len(found), -1)
        vectors.insert(db, [chunk_id for chunk_id, _ in found], fingerprint, matrix)
    return Filled(len(found), len(rows) - len(found))


_LACKING = """FROM chunks c LEFT JOIN chunks_vec v ON v.chunk_id = c.id AND v.fingerprint = coalesce(?, v.fingerprint)
    WHERE c.document_id = ? AND v.chunk_id IS NULL"""
