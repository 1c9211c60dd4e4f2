"""Passages of published documents that answer a query, ranked as `bankml search` ranks those of a store."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bankml.fusion import convex
from bankml.library.search import sentence
from bankml.library.search.hit import Found, Hit
from bankml.library.search.state import DEEPER, DEEPEST, DEPTH, LEAST_DEPTH, THE
from bankml.models.alphas import alpha
from bankml.publish.connection import Connection
from bankml.publish.store import arms, words
from bankml.publish.store.listed import Listed
from bankml.publish.store.scope import Scope
from bankml.publish.store.vectors import Question
from bankml.publish.store.words import Terms
from bankml.terms import tokens

COUNT = """SELECT count(*), count(*) FILTER (WHERE fingerprint = %s) FROM bankml_passages
WHERE store = ANY(%s) AND record IS NULL"""
ROWS = """SELECT p.store, p.id, p.path, p.title, p.type, p.document, p.heading, p.text, p.line, p.page
FROM bankml_passages p JOIN unnest(%s::int[], %s::bigint[]) AS found (store, id) USING (store, id)"""
Key = tuple[int, int]  # of a passage: its store's number and its id there


@dataclass(frozen=True, slots=True)
class SharedHit(Hit):
    """`store`: the name of where it is from, whose `id` it has; `start` and `end` are those of its own text."""

    store: str = ""


def search(
    connection: Connection, stores: Sequence[Listed], query: str, n: int, mode: str, question: Question
) -> Found:
    """The n best, in a transaction that sees one state of all stores; of one text in many places the best alone."""
    scope = Scope(tuple(store.number for store in stores))
    fingerprint = question.recipe.fingerprint if question.recipe else None
    row = connection.execute(COUNT, (fingerprint, list(scope.stores))).fetchone()
    total, embedded = row or (0, 0)
    if not tokens(query):
        return Found([], sentence.sentence(0, total, sentence.NOTHING_ASKED))
    terms = Terms.read(connection, query, scope.stores)
    english = query.isascii() and 2 * Terms.read(connection, THE, scope.stores).used.get(THE, 0) >= terms.total > 0
    weight = alpha(question.recipe.model, english) if question.recipe else 0.0
    depth = max(DEPTH * n, LEAST_DEPTH) if mode == "fused" else n
    while True:
        both = _arms(connection, scope, terms, question, mode, depth)
        ranked = _distinct(both, _fused(both, weight, mode, question), n)
        if len(ranked) == n or depth >= DEEPEST or all(len(arm) < depth for arm in both):
            break
        depth *= DEEPER
    names = {store.number: store.name for store in stores}
    told = _told(question, mode, embedded, total, weight)
    return Found(_hits(connection, ranked, both, names), sentence.sentence(len(ranked), total, told), marks=terms.marks)


def _arms(
    connection: Connection, scope: Scope, terms: Terms, question: Question, mode: str, depth: int
) -> tuple[list[arms.Found], list[arms.Found]]:
    by_words = [] if mode == "meaning" else arms.by_words(connection, scope, terms, depth)
    if question.vector is None or question.recipe is None:
        return by_words, []
    return by_words, arms.by_meaning(connection, scope, question.recipe.fingerprint, question.vector, depth)


def _fused(
    both: tuple[list[arms.Found], list[arms.Found]], weight: float, mode: str, question: Question
) -> list[tuple[Key, float]]:
    """Of both arms, or of the one there is."""
    if mode == "meaning" or question.vector is None:
        return [((one.store, one.id), one.score) for one in both[mode == "meaning"]]
    keys = list(dict.fromkeys((one.store, one.id) for arm in both for one in arm))
    numbers = {key: number for number, key in enumerate(keys)}
    lists = [([numbers[one.store, one.id] for one in arm], [one.score for one in arm]) for arm in both]
    return [(keys[number], score) for number, score in convex(lists[0], lists[1], weight)]


def _distinct(
    both: tuple[list[arms.Found], list[arms.Found]], ranked: list[tuple[Key, float]], n: int
) -> list[tuple[Key, float]]:
    texts = {(one.store, one.id): one.key for arm in both for one in arm}
    firsts: dict[str, tuple[Key, float]] = {}
    for key, score in ranked:
        firsts.setdefault(texts[key], (key, score))
    return list(firsts.values())[:n]


def _hits(
    connection: Connection,
    ranked: list[tuple[Key, float]],
    both: tuple[list[arms.Found], list[arms.Found]],
    names: dict[int, str],
) -> list[Hit]:
    keys = [key for key, _ in ranked]
    rows = connection.execute(ROWS, ([store for store, _ in keys], [id for _, id in keys])).fetchall()
    found = {(row[0], row[1]): row[2:] for row in rows}
    by_words, by_meaning = ({(one.store, one.id): rank for rank, one in enumerate(arm, 1)} for arm in both)
    cosines = {(one.store, one.id): one.score for one in both[1]}
    return [
        _hit(found[key], key[1], score, cosines.get(key), by_words.get(key), by_meaning.get(key), names[key[0]])
        for key, score in ranked
    ]


def _hit(
    row: Sequence[Any],
    id: int,
    score: float,
    cosine: float | None,
    by_words: int | None,
    by_meaning: int | None,
    name: str,
) -> Hit:
    path, title, type, document, heading, text, line, page = row
    return SharedHit(
        id=id,
        path=path,
        title=title,
        type=type,
        document=document,
        heading=heading,
        text=text,
        line=line,
        page=page,
        start=0,
        end=len(text),
        score=score,
        cosine=cosine,
        words_rank=by_words,
        meaning_rank=by_meaning,
        store=name,
    )


def _told(question: Question, mode: str, embedded: int, total: int, weight: float) -> str:
    if question.vector is None or question.recipe is None:
        return (
            sentence.no_meaning(question.why) if mode == "meaning" else sentence.words_alone(words.NAME, question.why)
        )
    if mode == "meaning":
        return sentence.meaning_alone(question.recipe.model, embedded, total)
    return sentence.both(words.NAME, question.recipe.model, embedded, total, weight)
