"""What the records of a project said at a time, as far as that was asserted."""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bankml.errors import InputError
from bankml.library.search import sentence
from bankml.library.search.words import CHARS, Words
from bankml.memory import instant
from bankml.store import Store, config, records
from bankml.store.record import Assertion, Category, Record, Status, encoded
from bankml.terms import tokens

MOST = 1000  # records that are asked for at once

# An assertion holds from valid_from on, up to and without valid_to.
HOLDS = "valid_from <= :at AND (valid_to IS NULL OR valid_to > :at)"
PASSAGES = f"""SELECT c.id, r.id FROM records r JOIN chunks c ON c.document_id = r.document_id
    WHERE r.namespace = 'project' AND r.status IN (SELECT value FROM json_each(:statuses))
    AND (:categories = '[]' OR r.category IN (SELECT value FROM json_each(:categories)))
    AND NOT EXISTS (
        SELECT 1 FROM json_each(:tags) t WHERE t.value NOT IN (SELECT value FROM json_each(r.tags))
    ) AND EXISTS (SELECT 1 FROM assertions a WHERE a.record_id = r.id AND {HOLDS}) ORDER BY c.id"""


@dataclass(frozen=True, slots=True)
class Then:
    """`record`: as it is now, but for content and confidence. `score`: BM25 of the words that it has now."""

    record: Record
    assertion: Assertion
    score: float


@dataclass(frozen=True, slots=True)
class Past:
    """`at`: microseconds since 1970, UTC. `status`: how they were found, and how little of that time is in them."""

    results: tuple[Then, ...]
    at: int
    status: str


def as_of(
    store: Store,
    query: str,
    at: int,
    n: int = 10,
    statuses: Sequence[Status] = ("active",),
    categories: Sequence[Category] = (),
    tags: Sequence[str] = (),
) -> Past:
    """The n best records of the project by the words they have now, each with what it said at `at`.

    A record without an assertion that held then is none of the n. Raises InputError, StoreError.
    """
    _check(query, n)
    given = {"at": at, "statuses": encoded(statuses), "categories": encoded(categories), "tags": encoded(tags)}
    with store.reading() as db:
        owners: dict[int, str] = dict(db.execute(PASSAGES, given).fetchall())
        ranked = _ranked(db, query, owners)[:n]
        found = records.several(db, [record_id for record_id, _ in ranked])
        results = [_then(db, record, at, score) for record, (_, score) in zip(found, ranked, strict=True)]
    return Past(tuple(results), at, _status(query, len(results), len(set(owners.values())), at))


def held(assertions: Sequence[Assertion], at: int) -> Assertion | None:
    """Of those that hold at `at`, what was recorded last; of equals the larger id."""
    holding = (each for each in assertions if each.valid_from <= at and (each.valid_to is None or each.valid_to > at))
    return max(holding, key=lambda each: (each.recorded_at, each.id), default=None)


def _check(query: object, n: object) -> None:
    if not isinstance(query, str):
        raise InputError(f"the query is of type {type(query).__name__}; give a str")
    if not isinstance(n, int) or not 1 <= n <= MOST:
        raise InputError(f"n is {n!r}; give a number of results from 1 to {MOST}")


def _ranked(db: sqlite3.Connection, query: str, owners: Mapping[int, str]) -> list[tuple[str, float]]:
    """Records with their scores, best first, each by its best passage. `owners`: of passages, ids ascending."""
    words = Words()
    words.follow(config.state(db), int(db.execute("SELECT count(*) FROM chunks").fetchone()[0]))
    allowed = np.fromiter(owners, np.int64)
    best: dict[str, float] = {}
    ranking = words.rank(db, words.terms(db, query).used, len(allowed), allowed)
    for chunk, score in zip(ranking.ids.tolist(), ranking.scores.tolist(), strict=True):
        best.setdefault(owners[chunk], score)
    return list(best.items())


def _then(db: sqlite3.Connection, record: Record, at: int, score: float) -> Then:
    said = held(records.assertions(db, record.id), at)
    assert said  # else none of its passages was allowed
    return Then(replace(record, content=said.content, confidence=said.confidence), said, score)


def _status(query: str, shown: int, held: int, at: int) -> str:
    how = f"{Words.name} alone" if tokens(query[:CHARS]) else sentence.NOTHING_ASKED
    return (
        f"{shown:,} of {held:,} project records that said something at {instant.iso(at)} · {how} · found by the title, "
        "content, reasoning, tags and status they have now; only content and confidence are those of then"
    )
