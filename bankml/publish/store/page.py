"""The candidates of a query of records, read from published stores, as `bankml.memory.recall` ranks them."""

from collections.abc import Callable, Sequence
from typing import Any, LiteralString

import numpy as np
from psycopg import sql

from bankml.library.search.arms import Arms, MeaningArm
from bankml.library.search.ranking import NOTHING
from bankml.library.search.sentence import AS_ASKED, NOTHING_ASKED, no_meaning, words_alone
from bankml.memory.recall.asked import Asked
from bankml.memory.recall.candidates import DEEPER, Candidates
from bankml.memory.recall.page import Page
from bankml.memory.recall.sentence import NOTHING_PASSES, not_shown
from bankml.publish.connection import Connection
from bankml.publish.store import arms, naming, words
from bankml.publish.store.arms import Found
from bankml.publish.store.evidence import Passages, passages
from bankml.publish.store.scope import Scope
from bankml.publish.store.vectors import Question
from bankml.publish.store.words import Terms
from bankml.store.record import Cited, Record
from bankml.terms import tokens

PASSING: LiteralString = """
SELECT count(DISTINCT p.record), count(*), count(*) FILTER (WHERE p.fingerprint = %(fingerprint)s)
FROM {tables} WHERE {condition}
"""
RECORDS = """
SELECT id, title, content, created_at, updated_at, reasoning, category, tags, confidence, status, freshness, namespace,
    session, paths, provenance, superseded_by
FROM bankml_records WHERE store = ANY(%s) AND id = ANY(%s) ORDER BY updated_at, store
"""


def page(connection: Connection, stores: Sequence[int], asked: Asked, question: Question) -> Page:
    """For `bankml.memory.recall.recaller`, in a transaction that sees one state of all stores.

    Records of one id, as copies of a store have them, are one, as it was changed last.
    """
    scope = Scope(tuple(stores), asked.wanted)
    total, held, embedded = _passing(connection, scope, question)
    by_id = naming.by_id(connection, scope, asked.identifiers)
    if not total:
        return Page(0, NOTHING_PASSES)
    if not tokens(asked.query):
        return Page(total, NOTHING_ASKED)
    terms = Terms.read(connection, asked.query, scope.stores)
    by_words, by_meaning = _arms(connection, scope, asked, question, terms)
    by_name = [] if asked.mode == "meaning" else naming.by_name(connection, scope, asked.identifiers, total)
    records = _records(connection, scope, [*by_words, *by_meaning, *by_id, *by_name[-asked.depth :]])
    shown = {id: record for id, record in records.items() if asked.wanted.passes(record)}
    numbers = {id: number for number, id in enumerate(sorted(shown), 1)}
    read = passages(connection, scope.stores, numbers, terms, question, asked.mode != "meaning")
    found = _candidates(asked, question, numbers, by_words, by_meaning, by_id, by_name, read)
    best = {number: found.passage(number) for number in numbers.values()}
    return Page(
        total,
        _told(asked, question, embedded, held),
        (*_lacking(question, held - embedded), *_kept_out(asked, by_id, shown)),
        False,
        question.recipe.digest if question.vector is not None and question.recipe else "",
        found,
        {numbers[id]: record for id, record in shown.items()},
        {number: read.texts[place] for number, place in best.items() if place is not None},
        _explained(asked, terms, found),
        terms.marks,
    )


def _passing(connection: Connection, scope: Scope, question: Question) -> tuple[int, int, int]:
    """Records that pass, their passages, and how many of these have a vector that may be compared."""
    query = sql.SQL(PASSING).format(tables=scope.tables, condition=scope.condition)
    fingerprint = question.recipe.fingerprint if question.recipe else None
    row = connection.execute(query, {**scope.values, "fingerprint": fingerprint}).fetchone()
    assert row is not None
    return row


def _arms(
    connection: Connection, scope: Scope, asked: Asked, question: Question, terms: Terms
) -> tuple[list[str], list[str]]:
    """The records of both arms, best first."""
    by_words: list[str] = []
    by_meaning: list[str] = []
    if asked.mode != "meaning":
        by_words = _deep(lambda k: arms.by_words(connection, scope, terms, k), asked.depth)
    if (vector := question.vector) is not None and (recipe := question.recipe) is not None:
        by_meaning = _deep(lambda k: arms.by_meaning(connection, scope, recipe.fingerprint, vector, k), asked.depth)
    return by_words, by_meaning


def _deep(arm: Callable[[int], list[Found]], depth: int) -> list[str]:
    """So many records, as far as there are, however many passages that takes."""
    k = depth
    while True:
        found = arm(k)
        records = list(dict.fromkeys(one.record for one in found if one.record is not None))
        if len(records) >= depth or len(found) < k:
            return records[:depth]
        k *= DEEPER


def _records(connection: Connection, scope: Scope, ids: Sequence[str]) -> dict[str, Record]:
    rows = connection.execute(RECORDS, (list(scope.stores), list(dict.fromkeys(ids)))).fetchall()
    return {row[0]: _record(row) for row in rows}


def _record(row: Sequence[Any]) -> Record:
    *before, reasoning, category, tags, confidence, status, freshness, namespace, session, paths, provenance, by = row
    id, title, content, created_at, updated_at = before
    return Record(
        id=id,
        title=title,
        content=content,
        created_at=created_at,
        updated_at=updated_at,
        reasoning=reasoning,
        category=category,
        tags=tuple(tags),
        confidence=confidence,
        status=status,
        freshness=freshness,
        namespace=namespace,
        session=session,
        cited=tuple(Cited(path.encode()) for path in paths),
        provenance=provenance,
        superseded_by=by,
    )


def _candidates(
    asked: Asked,
    question: Question,
    numbers: dict[str, int],
    by_words: list[str],
    by_meaning: list[str],
    by_id: dict[str, str],
    by_name: list[str],
    read: Passages,
) -> Candidates:
    why = "" if question.vector is not None else question.why
    meaning = MeaningArm(why, model=question.recipe.model if question.recipe else "", alpha=asked.alpha)
    return Candidates(
        Arms(None if asked.mode == "meaning" else NOTHING, meaning),
        np.array(list(numbers.values()), np.int64),
        {numbers[id]: rank for rank, id in enumerate(by_words, 1) if id in numbers},
        {numbers[id]: rank for rank, id in enumerate(by_meaning, 1) if id in numbers},
        read.words,
        read.meaning,
        read.coverage,
        frozenset(numbers[id] for id in by_id if id in numbers),
        frozenset(numbers[id] for id in by_name if id in numbers),
    )


def _told(asked: Asked, question: Question, embedded: int, held: int) -> str:
    if question.vector is None:
        return no_meaning(question.why) if asked.mode == "meaning" else words_alone(words.NAME, question.why)
    assert question.recipe is not None
    meaning = f"{question.recipe.model} (meaning, {embedded:,} of {held:,} passages embedded)"
    if asked.mode == "meaning":
        return f"{meaning} alone, {AS_ASKED}"
    how = f"convex combination ({asked.alpha:g})" if asked.fusion == "convex" else "reciprocal rank"
    return f"{words.NAME} + {meaning}, fused by {how}"


def _lacking(question: Question, lacking: int) -> Sequence[str]:
    if question.vector is None or not lacking:
        return ()
    which = "1 passage is" if lacking == 1 else f"{lacking:,} passages are"
    return (f"{which} found by words alone: without a vector there, or with another model's",)


def _kept_out(asked: Asked, by_id: dict[str, str], shown: dict[str, Record]) -> Sequence[str]:
    """What the query says the id of, and does not get."""
    return [not_shown(id, status, status in asked.wanted.statuses) for id, status in by_id.items() if id not in shown]


def _explained(asked: Asked, terms: Terms, found: Candidates) -> dict[str, Any]:
    return {
        "terms": terms.used,
        "fusion": asked.fusion,
        "alpha": asked.alpha,
        "candidates": int(found.documents.size),
        "identifiers": ", ".join(asked.identifiers.terms) or "none",
    }
