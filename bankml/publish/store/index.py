"""The indexes by which passages are found: GIN for words, and for the vectors of each recipe HNSW by cosine.

Vectors of one recipe have two, over records and over documents: nobody asks for both, and a graph in which few are
wanted is searched in vain. Where pgvectorscale is, DiskANN is tried first. All are built after the rows are committed,
which takes a fraction of what rows put in one by one would take; without them a search is exact, only slower.
"""

import time
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass

import psycopg
from psycopg import sql

from bankml.publish.connection import Connection
from bankml.publish.lock import locked
from bankml.publish.refusal import first_line
from bankml.publish.store.schema import Schema, look

VECTOR_DIMS, HALF_DIMS = 2000, 4000  # pgvector's limits of an index, of the types vector and halfvec
WORDS = "bankml_passages_words"
RECIPES = (
    "SELECT DISTINCT fingerprint, dims FROM bankml_stores WHERE fingerprint IS NOT NULL AND embedded > 0 ORDER BY 1"
)
THERE = """
SELECT relname, nspname, amname, indisvalid FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
JOIN pg_namespace ON pg_namespace.oid = relnamespace JOIN pg_am ON pg_am.oid = relam
WHERE indrelid = to_regclass('bankml_passages') AND relname LIKE 'bankml\\_passages\\_%'
"""


@dataclass(frozen=True)
class IndexWanted:
    """An index by its name; `kinds` that will do, the best first. `on`: what stands behind the kind."""

    name: str
    kinds: tuple[str, ...]
    on: sql.Composed


def column(dims: int) -> sql.Composed:
    """The vectors as an index of that width has them, and as a query must name them to be served by it."""
    return sql.SQL("embedding::{}({})").format(sql.SQL(_type(dims)), sql.Literal(dims))


def query(dims: int) -> sql.Composed:
    """The parameter `vector`, as what `column` is compared with."""
    return sql.SQL("{}::{}({})").format(sql.Placeholder("vector"), sql.SQL(_type(dims)), sql.Literal(dims))


def part(fingerprint: str, records: bool, table: str = "") -> sql.Composed:
    """Which rows an index over vectors has; `table`: what stands before a column's name."""
    kind = sql.SQL(f"{table}record IS NOT NULL" if records else f"{table}record IS NULL")
    return sql.SQL("{}fingerprint = {} AND {}").format(sql.SQL(table), sql.Literal(fingerprint), kind)


def drop(connection: Connection, kept: Collection[str] = ()) -> None:
    """All that `build` makes, but what is named so. Nobody can search the table until the transaction ends."""
    for name, schema, *_ in _there(connection):
        if name not in kept:
            connection.execute(sql.SQL("DROP INDEX {}").format(sql.Identifier(schema, name)))


def build(connection: Connection) -> tuple[str, float | None]:
    """What there is now in words, and the seconds it took; None: nothing was missing.

    Searches go on meanwhile, other publishers wait. Rows are there whatever comes of it: a failure is told, not raised.
    """
    started, built, told = time.monotonic(), False, ""
    try:
        with locked(connection):
            schema = look(connection)
            there = {name: kind for name, _, kind, valid in _there(connection) if valid}
            wanted = list(_wanted(connection, schema))
            for each in wanted:
                if there.get(each.name) not in each.kinds:
                    there[each.name], built = _made(connection, each), True
            if built:
                connection.execute("ANALYZE bankml_passages, bankml_records, bankml_terms")
            _tidy(connection, {each.name for each in wanted})
        kinds = sorted({there[each.name] for each in wanted if each.name != WORDS})
        told = " and ".join(["gin", *kinds]) if kinds else "gin; none for vectors"
    except psycopg.Error as error:
        told = f"none: it could not be built ({first_line(error)}); publish again to try anew"
    return told, time.monotonic() - started if built else None


def _wanted(connection: Connection, schema: Schema) -> Iterator[IndexWanted]:
    yield IndexWanted(WORDS, ("gin",), sql.SQL("(words) WITH (fastupdate = off)").format())
    if not schema.column:
        return
    for fingerprint, dims in connection.execute(RECIPES).fetchall():
        if not _indexable(schema, dims):
            continue
        operators = sql.SQL("vector_cosine_ops" if dims <= VECTOR_DIMS else "halfvec_cosine_ops")
        kinds = ("diskann", "hnsw") if schema.vectorscale and dims <= VECTOR_DIMS else ("hnsw",)
        for records in (True, False):
            on = sql.SQL("(({}) {}) WHERE {}").format(column(dims), operators, part(fingerprint, records))
            yield IndexWanted(name(fingerprint, records), kinds, on)


def name(fingerprint: str, records: bool) -> str:
    """Of the index over the vectors of one recipe."""
    return f"bankml_passages_{fingerprint}_{'records' if records else 'documents'}"


def _made(connection: Connection, wanted: IndexWanted) -> str:
    """The kind that it became. Raises psycopg.Error where none of them can be built."""
    for at, kind in enumerate(wanted.kinds, 1):
        try:
            with connection.transaction():
                connection.execute(sql.SQL("DROP INDEX IF EXISTS {}").format(sql.Identifier(wanted.name)))
                create = sql.SQL("CREATE INDEX {} ON bankml_passages USING {} {}")
                connection.execute(create.format(sql.Identifier(wanted.name), sql.SQL(kind), wanted.on))
            return kind
        except psycopg.Error:
            if at == len(wanted.kinds):
                raise
    raise AssertionError("an index has a kind")


def _tidy(connection: Connection, kept: Collection[str]) -> None:
    """Without the indexes of recipes that no store has any more; where others use the table for long, another time."""
    with suppress(psycopg.Error), connection.transaction():
        drop(connection, kept)


def _there(connection: Connection) -> list[tuple[str, str, str, bool]]:
    rows = connection.execute(THERE).fetchall()
    return [row for row in rows if row[0] == WORDS or row[0].endswith(("_records", "_documents"))]


def _indexable(schema: Schema, dims: int) -> bool:
    return dims <= VECTOR_DIMS or (schema.halves and dims <= HALF_DIMS)


def _type(dims: int) -> str:
    return "vector" if dims <= VECTOR_DIMS else "halfvec"
