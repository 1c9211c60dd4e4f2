"""Both arms of a search, ranked in the database: words by BM25, meaning by the cosine."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log1p
from typing import Any

from psycopg import sql

from bankml.embedders.embedder import Floats
from bankml.library.search.words import CHARS, FEW, K1, READ, TERMS, B
from bankml.publish.connection import Connection
from bankml.publish.store import index, lexemes, ranks
from bankml.publish.store.scope import Scope
from bankml.terms import tokens

SCORED, MOST = 2_000, 32_768  # passages that hold the rarest terms: so many are scored first, and at most
COUNTS = "SELECT coalesce(sum(passages), 0), coalesce(sum(length), 0) FROM bankml_stores WHERE number = ANY(%s)"
FREQUENCIES = """
SELECT term, sum(passages) FROM bankml_terms WHERE term = ANY(%s) AND store = ANY(%s) GROUP BY term
"""
# BM25 as in bankml.library.search.words; equals by store and id.
WORDS = """
SELECT p.store, p.id, p.record, p.key, (
    SELECT sum(idf * tf * (%(k1)s + 1) / (tf + %(k1)s * (1 - %(b)s + %(b)s * p.length / %(mean)s)))
    FROM unnest(%(terms)s::tsquery[], %(idfs)s::float8[]) AS asked (term, idf),
        LATERAL (
            SELECT width_bucket(ts_rank(%(weights)s::float4[], p.words, term), %(steps)s::float4[])::float8 AS tf
        ) AS held
) AS score
FROM {tables} WHERE p.words @@ %(any)s::tsquery AND {condition}
ORDER BY score DESC, p.store, p.id LIMIT %(k)s
"""
MEANING = """
SELECT p.store, p.id, p.record, p.key, 1 - (p.{column} <=> {query}) AS cosine
FROM {tables} WHERE {part} AND {condition}
ORDER BY p.{column} <=> {query} LIMIT %(k)s
"""
COSINES = """
SELECT p.store, p.id, 1 - (p.{column} <=> {query}) FROM bankml_passages p
JOIN unnest(%(found_stores)s::int[], %(found_ids)s::bigint[]) AS found (store, id) USING (store, id)
WHERE p.fingerprint = %(fingerprint)s
"""
SEARCHED = 200  # of a graph: neighbours that are looked at, 40 by pgvector's default
Key = tuple[int, int]  # of a passage: its store's number and its id there


@dataclass(frozen=True, slots=True)
class Found:
    """A passage of an arm. `key`: equal for equal texts under equal headings."""

    store: int
    id: int
    record: str | None
    key: str
    score: float


@dataclass(frozen=True)
class Terms:
    """Those of a query that are known, with the number of passages that hold each; rarest first."""

    used: dict[str, int]
    total: int  # passages of the stores
    mean: float  # terms a passage

    def idf(self, term: str) -> float:
        """Of one that is used."""
        held = self.used[term]
        return log1p((self.total - held + 0.5) / (held + 0.5))


def terms(connection: Connection, query: str, stores: Sequence[int]) -> Terms:
    """What of the query is looked for: as in the local search, the commonest are left out where they cost much."""
    wanted = list(dict.fromkeys(tokens(query[:CHARS])))[:TERMS]
    named = {lexemes.lexeme(term): term for term in wanted}
    row = connection.execute(COUNTS, (list(stores),)).fetchone()
    total, length = (int(row[0]), int(row[1])) if row else (0, 0)
    counted = {named[term]: int(n) for term, n in connection.execute(FREQUENCIES, (list(named), list(stores)))}
    rarest = sorted((term for term in wanted if term in counted), key=lambda term: counted[term])
    used = _first(rarest, counted, max(FEW, READ * total))
    return Terms({term: counted[term] for term in used}, total, max(1, length) / max(1, total))


def by_words(connection: Connection, scope: Scope, asked: Terms, k: int) -> list[Found]:
    """The k best by BM25 over all passages of the stores, of those in scope.

    Passages that hold one of the rarest terms are scored, by all terms. What holds none of these scores less than the
    others' highest scores together: where the k-th best does not reach that, more are scored, up to `MOST`.
    """
    terms = list(asked.used)
    for most in (SCORED, MOST):
        looked_for = _first(terms, asked.used, most)
        found = _by_words(connection, scope, asked, looked_for, k)
        rest = sum(asked.idf(term) for term in terms[len(looked_for) :]) * (K1 + 1)
        if not rest or (len(found) == k and found[-1].score >= rest):
            break
    return found


def _by_words(connection: Connection, scope: Scope, asked: Terms, looked_for: Sequence[str], k: int) -> list[Found]:
    values = {
        "terms": [lexemes.query(term) for term in asked.used],
        "idfs": [asked.idf(term) for term in asked.used],
        "any": lexemes.any_of(looked_for),
        "weights": ranks.WEIGHTS,
        "steps": ranks.STEPS,
        "k1": K1,
        "b": B,
        "mean": asked.mean,
        "k": k,
        **scope.values,
    }
    query = sql.SQL(WORDS).format(tables=scope.tables, condition=scope.condition)
    return _found(connection.execute(query, values, prepare=False))


def by_meaning(
    connection: Connection, scope: Scope, fingerprint: str, vector: Floats, k: int, exact: bool = False
) -> list[Found]:
    """The k nearest passages in scope whose vector is of this recipe; in a transaction, whose settings it changes.

    `exact`: without an index.
    """
    connection.execute("SELECT set_config('hnsw.ef_search', %s, true)", (str(max(SEARCHED, min(2 * k, 1000))),))
    connection.execute("SELECT set_config('hnsw.iterative_scan', 'strict_order', true)")
    connection.execute("SELECT set_config('enable_indexscan', %s, true)", ("off" if exact else "on",))
    query = sql.SQL(MEANING).format(
        tables=scope.tables,
        condition=scope.condition,
        column=index.column(len(vector)),
        query=index.query(len(vector)),
        part=index.part(fingerprint, scope.records, "p."),
    )
    return _found(connection.execute(query, {"vector": text(vector), "k": k, **scope.values}, prepare=False))


def cosines(connection: Connection, keys: Iterable[Key], fingerprint: str, vector: Floats) -> dict[Key, float]:
    """Of these passages, as far as they have a vector of this recipe."""
    found = list(keys)
    query = sql.SQL(COSINES).format(column=index.column(len(vector)), query=index.query(len(vector)))
    values = {
        "vector": text(vector),
        "fingerprint": fingerprint,
        "found_stores": [store for store, _ in found],
        "found_ids": [id for _, id in found],
    }
    return {(store, id): float(cosine) for store, id, cosine in connection.execute(query, values)}


def text(vector: Floats) -> str:
    """A vector as PostgreSQL reads it: the shortest decimals that are the same float32."""
    return f"[{','.join(map(str, vector))}]"


def _first(rarest: Sequence[str], counted: dict[str, int], most: float) -> list[str]:
    """The first terms whose passages are at most so many in all; one in any case."""
    kept, seen = list[str](), 0
    for term in rarest:
        seen += counted[term]
        if kept and seen > most:
            break
        kept.append(term)
    return kept


def _found(rows: Iterable[tuple[Any, ...]]) -> list[Found]:
    return [Found(store, id, record, key, float(score)) for store, id, record, key, score in rows]
