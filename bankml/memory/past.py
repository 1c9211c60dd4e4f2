"""What the records of a project said at a time, as far as that was asserted."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bankml.library.search import sentence
from bankml.library.search.asking import Question
from bankml.library.search.ranking import NOTHING
from bankml.library.search.state import State
from bankml.library.search.words import CHARS, Words
from bankml.memory import instant
from bankml.memory.recall.asked import Asked
from bankml.memory.recall.candidates import Pool, coverage
from bankml.memory.recall.judged import LEXICAL_ONLY
from bankml.memory.recall.recalled import Memory, Recalled
from bankml.memory.recall.recaller import Recaller
from bankml.memory.recall.wanted import Wanted
from bankml.store import assertions, records
from bankml.store.record import Assertion, Freshness, Record
from bankml.terms import tokens

# An assertion holds from valid_from on, up to and without valid_to. Of assertions nothing is read but an index.
HOLDING = """SELECT document_id FROM records WHERE id IN (
        SELECT record_id FROM assertions WHERE valid_from <= :at AND (valid_to IS NULL OR valid_to > :at)
    ) ORDER BY document_id"""


@dataclass(frozen=True, slots=True)
class _Then:
    """A record with what it said then."""

    record: Record
    score: float
    share: float  # of the query's terms


def as_of(
    recaller: Recaller,
    query: str,
    at: int,
    n: int = 10,
    statuses: Sequence[str] = ("active",),
    categories: Sequence[str] = (),
    tags: Sequence[str] = (),
) -> Recalled:
    """The n best records of the project by the words they have now, each with what it said at `at`.

    `at`: microseconds since 1970, UTC. Content and confidence alone are of then. A record of which nothing that was
    asserted held then is none of the n. Raises InputError, StoreError.
    """
    asked = Asked.of(query, n, "words", wanted=Wanted.of(statuses, categories, ("project",), tags=tags))

    def read(db: sqlite3.Connection, state: State, question: Question) -> tuple[list[_Then], int, frozenset[str]]:
        holding = state.passing(db, ("holding", at), lambda db: _holding(db, at))
        passages, owners = state.passing(db, asked.wanted, asked.wanted.passages)
        pool = Pool(passages, owners, holding).within(np.intersect1d(owners, holding))
        return _found(db, state, asked, question, pool, at), pool.documents.size, state.marks(db, query)

    found, held, marks = recaller.searcher.asked(query, "words", None, read)
    best = max((each.score for each in found), default=1.0)
    seen = recaller.look()
    results = [_memory(then, seen(then.record), rank, best) for rank, then in enumerate(found, 1)]
    return Recalled(results, _status(query, len(results), held, at), marks=marks)


def held(assertions: Sequence[Assertion], at: int) -> Assertion | None:
    """Of those that hold at `at`, what was recorded last; of equals the larger id."""
    holding = (each for each in assertions if each.valid_from <= at and (each.valid_to is None or each.valid_to > at))
    return max(holding, key=lambda each: (each.recorded_at, each.id), default=None)


def _holding(db: sqlite3.Connection, at: int) -> NDArray[np.int64]:
    """Documents (m,) of the records that said something at `at`, ascending."""
    return np.fromiter((row[0] for row in db.execute(HOLDING, {"at": at})), np.int64)


def _found(db: sqlite3.Connection, state: State, asked: Asked, question: Question, pool: Pool, at: int) -> list[_Then]:
    """Best first, each by its best passage; equals by the passage that is older."""
    size = pool.passages.size
    words = (state.arms(db, asked.query, "words", question, size, pool.passages, {}).words if size else None) or NOTHING
    scores: dict[int, float] = {}
    for document, score in zip(pool.of(words.ids).tolist(), words.scores.tolist(), strict=True):
        scores.setdefault(document, score)
    best = list(scores)[: asked.n]
    shares = coverage(db, state, asked.query, pool.within(np.sort(np.array(best, np.int64))))
    return [_Then(_then(db, document, at), scores[document], shares.get(document, 0.0)) for document in best]


def _then(db: sqlite3.Connection, document: int, at: int) -> Record:
    (record_id,) = db.execute("SELECT id FROM records WHERE document_id = ?", (document,)).fetchone()
    record, said = records.find(db, record_id), held(assertions.of(db, record_id), at)
    assert record
    assert said  # else no passage of it was in the pool
    return replace(record, content=said.content, confidence=said.confidence)


def _memory(then: _Then, freshness: Freshness, rank: int, best: float) -> Memory:
    return Memory(
        record=then.record,
        freshness=freshness,
        repository="",
        score=LEXICAL_ONLY,
        cosine=None,
        weak=None,
        relevance=then.score / best,
        coverage=then.share,
        words_rank=rank,
        meaning_rank=None,
        passage=then.record.content,
    )


def _status(query: str, shown: int, held: int, at: int) -> str:
    how = f"{Words.name} alone" if tokens(query[:CHARS]) else sentence.NOTHING_ASKED
    return (
        f"{shown:,} of {held:,} project records that said something at {instant.iso(at)} · {how} · found by the title, "
        "content, reasoning, tags and status they have now; only content and confidence are those of then"
    )
