"""The index by which the database finds near vectors: DiskANN where pgvectorscale is, else HNSW, by cosine.

It is built after the lines are committed: rows put into a graph one by one take several times as long as the graph of
all of them built at once, and without an index a search is exact, only slower.
"""

from psycopg import sql

from bankml.publish.connection import Connection
from bankml.publish.lock import locked
from bankml.publish.schema import INDEX, Schema, look

HNSW_DIMS = 2000  # pgvector's limit for the type vector
# By its table: another schema of the search_path may have an index of that name.
SCHEMA = """
SELECT nspname FROM pg_index
JOIN pg_class ON pg_class.oid = indexrelid JOIN pg_namespace ON pg_namespace.oid = relnamespace
WHERE indrelid = to_regclass('bankml_exchanges') AND relname = %s
"""
CREATE = "CREATE INDEX {} ON bankml_exchanges USING {} (embedding vector_cosine_ops)"


def kind(schema: Schema) -> str | None:
    """Of the index that the column should have; None where it can have none."""
    if schema.dims is None:
        return None
    if schema.vectorscale is not None:
        return "diskann"
    return "hnsw" if schema.dims <= HNSW_DIMS else None


def renewed(schema: Schema, vectors: int, others: int) -> bool:
    """Whether the index is dropped before `vectors` new ones are written beside the `others` that stay."""
    return schema.index is not None and (schema.index != kind(schema) or vectors > others)


def drop(connection: Connection) -> None:
    """Where there is one. Nobody can search the table from here until the transaction ends."""
    for (schema,) in connection.execute(SCHEMA, (INDEX,)).fetchall():
        connection.execute(sql.SQL("DROP INDEX {}").format(sql.Identifier(schema, INDEX)))


def build(connection: Connection) -> tuple[str, bool]:
    """The kind of the index or why there can be none, and whether it was missing and is built now.

    Searches go on meanwhile, other publishers wait.
    """
    with locked(connection):
        schema = look(connection)
        wanted = kind(schema)
        if wanted is None or schema.index == wanted:
            return wanted or _why_none(schema), False
        drop(connection)  # one of another kind, or that was left invalid
        connection.execute(sql.SQL(CREATE).format(sql.Identifier(INDEX), sql.SQL(wanted)))
    return wanted, True


def _why_none(schema: Schema) -> str:
    """Why `kind` is None."""
    if schema.dims is None:
        return "none: there is no column of vectors"
    return f"none: HNSW takes vectors of at most {HNSW_DIMS:,} numbers, so searches are exact"
