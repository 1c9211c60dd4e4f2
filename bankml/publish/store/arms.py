"""Both arms of a search, ranked in the database: words by BM25, meaning by the cosine."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, LiteralString

from psycopg import sql

from bankml.embedders.embedder import Floats
from bankml.library.search.words import K1
from bankml.publish.connection import Connection
from bankml.publish.store import index, lexemes
from bankml.publish.store.schema import Schema
from bankml.publish.store.scope import Scope
from bankml.publish.store.words import SCORE, Terms, first

SCORED, MOST = 2_000, 32_768  # passages that hold the rarest terms: so many are scored first, and at most
SEARCHED, LARGEST = 200, 1000  # neighbours that a search of a graph looks at (pgvector's default is 40, its most 1,000)
WORDS: LiteralString = """
SELECT p.store, p.id, p.record, p.key, {score} AS score FROM {tables} WHERE p.words @@ %(any)s::tsquery AND {condition}
ORDER BY score DESC, p.store, p.id LIMIT %(k)s
"""
MEANING: LiteralString = """
SELECT p.store, p.id, p.record, p.key, 1 - (p.{column} <=> {query}) AS cosine FROM {tables} WHERE {part} AND {condition}
ORDER BY p.{column} <=> {query} LIMIT %(k)s
"""


@dataclass(frozen=True, slots=True)
class Found:
    """A passage of an arm: of which store, its id there. `key`: equal for equal texts under equal headings."""

    store: int
    id: int
    record: str | None
    key: str
    score: float


def settle(connection: Connection, schema: Schema) -> None:
    """For a transaction that asks: plans are made for the very values, and none is compiled, which takes longer."""
    settings = {"plan_cache_mode": "force_custom_plan", "jit": "off"}
    if schema.iterative:  # an older pgvector, once it is loaded, refuses a setting that it has not
        settings["hnsw.iterative_scan"] = "strict_order"
    for name, value in settings.items():
        connection.execute("SELECT set_config(%s, %s, true)", (name, value))


def by_words(connection: Connection, scope: Scope, terms: Terms, k: int) -> list[Found]:
    """The k best by BM25 over all passages of the stores, of those in scope; equals by store and id.

    Passages that hold one of the rarest terms are scored, by all terms. What holds none of these scores less than the
    others can give at most: where the k-th best is not above that, more are scored, up to `MOST`.
    """
    found: list[Found] = []
    if not terms.used:
        return found
    every = list(terms.used)
    for most in (SCORED, MOST):
        looked_for = first(every, terms.used, most)
        found = _by_words(connection, scope, terms, looked_for, k)
        rest = (K1 + 1) * sum(terms.idf(terms.used[term]) for term in every[len(looked_for) :])
        if not rest or (len(found) == k and found[-1].score > rest):
            break
    return found


def by_meaning(connection: Connection, scope: Scope, fingerprint: str, vector: Floats, k: int) -> list[Found]:
    """The k nearest passages in scope whose vector is of this recipe; nearly, where there is an index."""
    searched = str(max(SEARCHED, min(2 * k, LARGEST)))
    connection.execute("SELECT set_config('hnsw.ef_search', %s, true)", (searched,))
    query = sql.SQL(MEANING).format(
        tables=scope.tables,
        condition=scope.condition,
        column=index.column(len(vector)),
        query=index.query(len(vector)),
        part=index.part(fingerprint, scope.wanted is not None, "p."),
    )
    return _found(connection.execute(query, {"vector": text(vector), "k": k, **scope.values}))


def text(vector: Floats) -> str:
    """As PostgreSQL reads it: the shortest decimals that are the same float32."""
    return f"[{','.join(map(str, vector))}]"


def _by_words(connection: Connection, scope: Scope, terms: Terms, looked_for: Sequence[str], k: int) -> list[Found]:
    query = sql.SQL(WORDS).format(score=sql.SQL(SCORE), tables=scope.tables, condition=scope.condition)
    values = {**terms.values, "any": lexemes.any_of(looked_for), "k": k, **scope.values}
    return _found(connection.execute(query, values))


def _found(rows: Iterable[tuple[Any, ...]]) -> list[Found]:
    return [Found(store, id, record, key, float(score)) for store, id, record, key, score in rows]
