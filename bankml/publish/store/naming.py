"""The records that a query names exactly, looked for in published stores."""

from typing import LiteralString

from psycopg import sql

from bankml.memory.recall.identifiers import DIGITS, Identifiers
from bankml.memory.recall.naming import FEW, SHARE
from bankml.publish.connection import Connection
from bankml.publish.store import lexemes
from bankml.publish.store.scope import Scope
from bankml.store.record import PREFIX
from bankml.store.records import file_name
from bankml.terms import tokens

BY_ID: LiteralString = """SELECT DISTINCT id, status FROM bankml_records
WHERE store = ANY(%(stores)s) AND id COLLATE "C" BETWEEN %(first)s AND %(last)s LIMIT 2"""
CITING: LiteralString = (
    "SELECT DISTINCT r.id, r.created_at FROM {tables} WHERE {condition} AND r.names && %(names)s::text[]"
)
HOLDING: LiteralString = """SELECT DISTINCT r.id, r.created_at FROM {tables}
WHERE {condition} AND p.words @@ %(phrase)s::tsquery"""


def by_id(connection: Connection, scope: Scope, asked: Identifiers) -> dict[str, str]:
    """The records of these ids, or whose ids alone begin so, each with its status, whether it passes or not."""
    found: dict[str, str] = {}
    for start in asked.ids:
        last = start if len(start) == len(PREFIX) + DIGITS else start + "g"
        rows = connection.execute(BY_ID, {"stores": list(scope.stores), "first": start, "last": last}).fetchall()
        found |= dict(rows) if len({id for id, _ in rows}) == 1 else {}
    return found


def by_name(connection: Connection, scope: Scope, asked: Identifiers, passing: int) -> list[str]:
    """The records in scope, of so many that pass, that cite or may hold what is asked for by name; the newest last."""
    found = dict[str, int]()
    if names := [file_name(name.encode("utf-8", "replace")) for name in asked.names]:
        found |= _created(connection, CITING, scope, names=names)
    for literal in asked.literals:
        if terms := tokens(literal):
            found |= _created(connection, HOLDING, scope, phrase=" <-> ".join(map(lexemes.query, terms)))
    return [] if len(found) > max(passing / SHARE, FEW) else sorted(found, key=lambda id: (found[id], id))


def _created(connection: Connection, query: LiteralString, scope: Scope, **values: object) -> dict[str, int]:
    composed = sql.SQL(query).format(tables=scope.tables, condition=scope.condition)
    return dict(connection.execute(composed, {**scope.values, **values}).fetchall())
