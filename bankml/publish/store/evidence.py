"""What both arms say of every passage of some records."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import LiteralString

import numpy as np
from psycopg import sql

from bankml.memory.recall.candidates import Best
from bankml.publish.connection import Connection
from bankml.publish.store import arms, index
from bankml.publish.store.vectors import Question
from bankml.publish.store.words import SCORE, Terms

PASSAGES: LiteralString = """
SELECT p.record, p.text, {score}, {cosine}, ARRAY(SELECT p.words @@ term FROM unnest(%(terms)s::tsquery[]) AS term)
FROM bankml_passages p WHERE p.store = ANY(%(stores)s) AND p.record = ANY(%(records)s) ORDER BY p.store, p.id
"""
COSINE: LiteralString = "CASE WHEN p.fingerprint = {fingerprint} THEN 1 - (p.{column} <=> {query}) END"


@dataclass(frozen=True)
class Passages:
    """By the number of each record, and of each passage in `texts`."""

    texts: list[str]
    words: Best
    meaning: Best
    coverage: dict[int, float]


def passages(
    connection: Connection, stores: Sequence[int], numbers: dict[str, int], terms: Terms, asked: Question, words: bool
) -> Passages:
    """Of the records that have `numbers` by id. `words`: whether that arm was asked."""
    query = sql.SQL(PASSAGES).format(score=sql.SQL(SCORE), cosine=_cosine(asked))
    values = {**terms.values, "stores": list(stores), "records": list(numbers)}
    if asked.vector is not None:
        values["vector"] = arms.text(asked.vector)
    rows = connection.execute(query, values).fetchall()
    owners = [numbers[record] for record, *_ in rows]
    return Passages(
        [row[1] for row in rows],
        _best(owners, [float(row[2]) or None for row in rows]) if words else Best(),
        _best(owners, [row[3] for row in rows]),
        _coverage(terms, owners, [row[4] for row in rows]),
    )


def _cosine(asked: Question) -> sql.Composed:
    if asked.vector is None or asked.recipe is None:
        return sql.SQL("NULL::float8").format()
    dims = len(asked.vector)
    fingerprint = sql.Literal(asked.recipe.fingerprint)
    return sql.SQL(COSINE).format(fingerprint=fingerprint, column=index.column(dims), query=index.query(dims))


def _best(owners: Sequence[int], scores: Iterable[float | None]) -> Best:
    """Of each record the best passage that has a score; equals: the first."""
    best: dict[int, float] = {}
    places: dict[int, int] = {}
    for place, (owner, score) in enumerate(zip(owners, scores, strict=True)):
        if score is not None and score > best.get(owner, -np.inf):
            best[owner], places[owner] = score, place
    return Best(best, places)


def _coverage(terms: Terms, owners: Sequence[int], held: Sequence[Sequence[bool]]) -> dict[int, float]:
    """By record: the share, by idf, of the query's terms that any of its passages holds."""
    weights = np.array([terms.idf(count) for count in terms.used.values()])
    if not (whole := float(weights.sum()) + terms.unknown * terms.idf(0)) or not terms.used:
        return {}
    holding: dict[int, np.ndarray[tuple[int], np.dtype[np.bool_]]] = {}
    for owner, row in zip(owners, held, strict=True):
        holding[owner] = holding.get(owner, np.zeros(len(weights), bool)) | np.array(row, bool)
    return {owner: min(1.0, float(weights @ row) / whole) for owner, row in holding.items()}
