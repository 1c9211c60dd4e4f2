"""A store's rows, brought to what they should be in a transaction that belongs to the caller: what is equal stays."""

import struct
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from psycopg import sql
from psycopg.types.json import Jsonb

from bankml.publish.connection import Connection
from bankml.publish.store import lexemes
from bankml.publish.store.rows import ASSERTION_COLUMNS, PASSAGE_COLUMNS, RECORD_COLUMNS, PassageRow, RecordRow, Row

Progress = Callable[[int, int], None]

UPSERT = """INSERT INTO bankml_records (store, row_digest, {names}) VALUES ({marks})
ON CONFLICT (store, id) DO UPDATE SET {updates}"""
# Of binary COPY: a tsvector and a vector are sent as the bytes that the server's own functions receive.
COPIED = {
    "store": "int4", "id": "int8", "record": "text", "document": "int8", "seq": "int4", "path": "text", "title": "text",
    "type": "text", "heading": "text", "text": "text", "line": "int4", "page": "int4", "key": "text",
    "length": "int4", "words": "bytea", "fingerprint": "text", "row_digest": "int8",
}  # fmt: skip
UNCOUNT_TERMS = """
UPDATE bankml_terms SET passages = bankml_terms.passages - gone.passages FROM (
    SELECT term, count(*) AS passages FROM bankml_passages, unnest(tsvector_to_array(words)) AS term
    WHERE store = %(store)s AND id = ANY(%(ids)s) GROUP BY term
) AS gone WHERE bankml_terms.store = %(store)s AND bankml_terms.term = gone.term
"""
COUNT_TERMS = """
INSERT INTO bankml_terms (store, term, passages) SELECT %s, term, passages FROM unnest(%s::text[], %s::int[])
AS new (term, passages)
ON CONFLICT (term, store) DO UPDATE SET passages = bankml_terms.passages + EXCLUDED.passages
"""
DELETE_PASSAGES = "DELETE FROM bankml_passages WHERE store = %s AND id = ANY(%s)"
DELETE_RECORDS = "DELETE FROM bankml_records WHERE store = %s AND id = ANY(%s)"
DELETE_ASSERTIONS = "DELETE FROM bankml_assertions WHERE store = %s AND record = ANY(%s)"
TERMS = 10_000  # of a statement
State = tuple[int, bool]  # of a passage: the digest of its row, and whether it has a vector


@dataclass(frozen=True)
class Changes:
    """Ids of passages, each list ascending. `new`: to be written, among them those that change."""

    new: list[int]
    gone: list[int]  # to be removed, among them those that change
    kept: int


def changes(connection: Connection, store: int, wanted: dict[int, State]) -> Changes:
    """Between what is there and `wanted`, by id."""
    rows = connection.execute(
        "SELECT id, row_digest, fingerprint IS NOT NULL FROM bankml_passages WHERE store = %s", (store,)
    )
    there: dict[int, State] = {id: (digest, embedded) for id, digest, embedded in rows}
    new = sorted(id for id, state in wanted.items() if there.get(id) != state)
    gone = sorted(id for id, state in there.items() if wanted.get(id) != state)
    return Changes(new, gone, len(there) - len(gone))


def remove(connection: Connection, store: int, ids: list[int]) -> None:
    """Passages, and what their words count for."""
    if ids:
        connection.execute(UNCOUNT_TERMS, {"store": store, "ids": ids})
        connection.execute("DELETE FROM bankml_terms WHERE store = %s AND passages <= 0", (store,))
        connection.execute(DELETE_PASSAGES, (store, ids))


def write_records(connection: Connection, store: int, rows: Iterable[RecordRow]) -> tuple[int, int]:
    """All records that the store has from now on; how many they are, and how many were not there like this."""
    there: dict[str, int] = dict(
        connection.execute("SELECT id, row_digest FROM bankml_records WHERE store = %s", (store,)).fetchall()
    )
    wanted, new = set[str](), list[RecordRow]()
    for row in rows:
        wanted.add(row.id)
        if there.get(row.id) != row.digest:
            new.append(row)
    connection.execute(DELETE_RECORDS, (store, [id for id in there if id not in wanted]))
    with connection.cursor() as cursor:
        values = ((store, row.digest, *_adapted(row.columns)) for row in new)
        cursor.executemany(_upsert(), values)
    connection.execute(DELETE_ASSERTIONS, (store, [row.id for row in new]))
    _copy_assertions(connection, store, new)
    return len(wanted), len(new)


def copy(
    connection: Connection,
    store: int,
    rows: Iterable[PassageRow],
    total: int,
    fingerprint: str | None,
    progress: Progress | None,
) -> Counter[str]:
    """New passages by COPY; how many of them hold each lexeme. `fingerprint`: of the vectors, None: no column."""
    counts = Counter[str]()
    columns = dict(COPIED)
    if fingerprint is not None:
        columns["embedding"] = "bytea"
    statement = sql.SQL("COPY bankml_passages ({}) FROM STDIN (FORMAT binary)").format(
        sql.SQL(", ").join(map(sql.Identifier, columns))
    )
    with connection.cursor() as cursor, cursor.copy(statement) as sent:
        sent.set_types(list(columns.values()))
        for done, row in enumerate(rows, 1):
            values, held = _passage(store, row, fingerprint)
            sent.write_row(values)
            counts.update(held)
            if progress:
                progress(done, total)
    return counts


def count_terms(connection: Connection, store: int, counts: Counter[str]) -> None:
    """What the words of new passages count for."""
    ordered = sorted(counts.items())
    for start in range(0, len(ordered), TERMS):
        terms, numbers = zip(*ordered[start : start + TERMS], strict=True)
        connection.execute(COUNT_TERMS, (store, list(terms), list(numbers)))


def _upsert() -> sql.Composed:
    names = ["store", "row_digest", *RECORD_COLUMNS]
    return sql.SQL(UPSERT).format(
        names=sql.SQL(", ").join(map(sql.Identifier, RECORD_COLUMNS)),
        marks=sql.SQL(", ").join(sql.Placeholder() * len(names)),
        updates=sql.SQL(", ").join(sql.SQL("{0} = EXCLUDED.{0}").format(sql.Identifier(name)) for name in names[1:]),
    )


def _copy_assertions(connection: Connection, store: int, rows: Iterable[RecordRow]) -> None:
    statement = sql.SQL("COPY bankml_assertions (store, record, {}) FROM STDIN (FORMAT binary)").format(
        sql.SQL(", ").join(map(sql.Identifier, ASSERTION_COLUMNS))
    )
    with connection.cursor() as cursor, cursor.copy(statement) as sent:
        sent.set_types(["int4", "text", "int4", "text", "float8", "int8", "int8", "int8", "jsonb"])
        for row in rows:
            for assertion in row.assertions:
                sent.write_row((store, row.id, *_adapted(assertion)))


def _adapted(columns: Row) -> Iterator[object]:
    return (Jsonb(value) if isinstance(value, dict) else value for value in columns)


def _passage(store: int, row: PassageRow, fingerprint: str | None) -> tuple[Row, list[str]]:
    """As it is sent, and its lexemes."""
    terms = row.terms
    words, held = lexemes.vector(terms)
    columns = (store, *row.columns, len(terms), words, fingerprint if row.vector is not None else None, row.digest)
    return columns if fingerprint is None else (*columns, _sent(row.vector)), held


def _sent(vector: bytes | None) -> bytes | None:
    """As pgvector receives it: the number of dimensions, nothing, big-endian float32."""
    if vector is None:
        return None
    numbers = np.frombuffer(vector, "<f4")
    return struct.pack(">HH", len(numbers), 0) + numbers.astype(">f4").tobytes()


assert [*COPIED][1:13] == PASSAGE_COLUMNS  # what `_passage` relies on
