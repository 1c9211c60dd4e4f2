"""The two tables, and what the database has of them.

Names and types are those of the program that bankml's histories come from, so that either may have made the tables;
it keeps more of an agent than bankml knows of: those columns stay as they are, and are empty for a new agent.
"""

import re
from dataclasses import dataclass

from psycopg import sql

from bankml.errors import StoreError
from bankml.publish.connection import Connection
from bankml.publish.vectors import Vectors

AGENTS = """
CREATE TABLE IF NOT EXISTS bankml_agents (
    slug text PRIMARY KEY,
    name text NOT NULL,
    persona jsonb NOT NULL,
    persona_raw text NOT NULL,
    prompt text NOT NULL,
    card jsonb NOT NULL,
    commitments jsonb NOT NULL,
    manifest jsonb NOT NULL,
    thot_cid text NOT NULL,
    content_root text NOT NULL,
    generation int NOT NULL,
    private_included boolean NOT NULL,
    published_at timestamptz NOT NULL DEFAULT now()
)"""
EXCHANGES = """
CREATE TABLE IF NOT EXISTS bankml_exchanges (
    agent text NOT NULL REFERENCES bankml_agents (slug) ON DELETE CASCADE,
    seq int NOT NULL,
    line_sha256 text NOT NULL,
    line text NOT NULL,
    rec jsonb NOT NULL,
    PRIMARY KEY (agent, seq)
)"""
COLUMN = "ALTER TABLE bankml_exchanges ADD COLUMN embedding vector({})"
INDEX = "bankml_exchanges_emb"  # the name that the other program gives it too

LOOK = """
SELECT current_setting('server_version'), current_setting('server_encoding'),
    (SELECT extversion FROM pg_extension WHERE extname = 'vector'),
    (SELECT extversion FROM pg_extension WHERE extname = 'vectorscale'),
    to_regclass('bankml_agents') IS NOT NULL AND to_regclass('bankml_exchanges') IS NOT NULL,
    to_regclass('bankml_memory') IS NOT NULL,
    (SELECT format_type(atttypid, atttypmod) FROM pg_attribute
        WHERE attrelid = to_regclass('bankml_exchanges') AND attname = 'embedding' AND NOT attisdropped),
    (SELECT amname FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid JOIN pg_am ON pg_am.oid = relam
        WHERE indrelid = to_regclass('bankml_exchanges') AND relname = %s AND indisvalid)
"""
# An extension may lie in a schema of its own: its type and operators are then found behind all others.
EXTEND_PATH = """
SELECT set_config('search_path',
    concat_ws(', ', current_setting('search_path'), quote_ident(nspname)), true)
FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace WHERE extname = 'vector'
"""
NO_SCHEMA = (
    "the search_path of this role leads to no schema that is there and that it may use: name one, such as "
    "PGOPTIONS='-c search_path=public'"
)


@dataclass(frozen=True)
class Schema:
    """What is in the database."""

    server: str  # PostgreSQL's version
    encoding: str
    vector: str | None  # pgvector's version, None where the database has it not
    vectorscale: str | None
    tables: bool
    memory: bool  # the other program's table of an agent's memory
    embedding: str | None  # the column's type
    index: str | None  # kind of the index on it

    @property
    def dims(self) -> int | None:
        """Numbers a vector; None without a column or with one of no fixed width."""
        found = re.fullmatch(r"vector\((\d+)\)", self.embedding or "")
        return int(found[1]) if found else None


def look(connection: Connection) -> Schema:
    """In a transaction, until the end of which names are looked for in pgvector's schema too. Changes nothing.

    Raises StoreError where the search_path leads to no schema: pgvector's would get the tables.
    """
    if connection.execute("SELECT current_schema()").fetchone() == (None,):
        raise StoreError(NO_SCHEMA)
    connection.execute(EXTEND_PATH)
    row = connection.execute(LOOK, (INDEX,)).fetchone()
    return Schema(*row)  # type: ignore[misc]


def fit(schema: Schema, vectors: Vectors | None) -> None:
    """Raises StoreError where texts, or these vectors, cannot be stored as the tables are."""
    if schema.encoding != "UTF8":
        raise StoreError(
            f"the database is encoded in {schema.encoding}, which cannot hold every text: "
            "make one with `createdb --encoding UTF8 --template template0 …`"
        )
    if vectors is not None and schema.embedding is not None and schema.dims != vectors.dims:
        raise StoreError(
            f"the column embedding of bankml_exchanges is {schema.embedding}, and {vectors.model} gives vectors "
            f"of {vectors.dims} numbers: publish with a model of that width, take another database, or remove all "
            f"vectors (ALTER TABLE bankml_exchanges DROP COLUMN embedding) and publish each agent again"
        )


def prepare(connection: Connection, schema: Schema, vectors: Vectors | None) -> None:
    """Makes what is missing: tables, and with pgvector the column for vectors as wide as these."""
    if not schema.tables:
        connection.execute(AGENTS)
        connection.execute(EXCHANGES)
    if vectors is not None and adds_column(schema):
        connection.execute(sql.SQL(COLUMN).format(sql.Literal(vectors.dims)))


def adds_column(schema: Schema) -> bool:
    """Whether the first vectors bring their column, whose width is theirs from then on."""
    return schema.vector is not None and schema.embedding is None
