"""The tables of published stores, as numbered migrations, and what a database has of them.

A migration that was released is never edited. The column of vectors is none of theirs: it comes with pgvector.
"""

import re
from dataclasses import dataclass

from bankml.errors import StoreError
from bankml.publish.connection import Connection, place
from bankml.publish.schema import EXTEND_PATH, NO_SCHEMA

MIGRATIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "stores, records, assertions, passages, terms",
        (
            # length: terms of all passages. model … document_prefix: of the vectors, where there are any.
            """CREATE TABLE bankml_stores (
                number int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
                store_id text NOT NULL UNIQUE,
                name text NOT NULL UNIQUE,
                private_included boolean NOT NULL,
                documents_included boolean NOT NULL,
                model text,
                digest text,
                fingerprint text,
                dims int,
                licence text,
                pooling text,
                query_prefix text,
                document_prefix text,
                records int NOT NULL DEFAULT 0,
                passages int NOT NULL DEFAULT 0,
                embedded int NOT NULL DEFAULT 0,
                length bigint NOT NULL DEFAULT 0,
                bankml text NOT NULL,
                published_at timestamptz NOT NULL
            )""",
            # Times: microseconds since 1970, UTC, as in the store. paths: the files that it depends on; names: of
            # the files alone, casefolded. freshness: as it was seen when it was published.
            """CREATE TABLE bankml_records (
                store int NOT NULL REFERENCES bankml_stores ON DELETE CASCADE,
                id text NOT NULL,
                title text NOT NULL,
                content text NOT NULL,
                reasoning text NOT NULL,
                category text NOT NULL,
                tags text[] NOT NULL,
                confidence float8 NOT NULL,
                status text NOT NULL,
                freshness text NOT NULL,
                namespace text NOT NULL,
                session text NOT NULL,
                paths text[] NOT NULL,
                names text[] NOT NULL,
                provenance jsonb NOT NULL,
                superseded_by text,
                created_at bigint NOT NULL,
                updated_at bigint NOT NULL,
                row_digest bigint NOT NULL,
                PRIMARY KEY (store, id)
            )""",
            """CREATE TABLE bankml_assertions (
                store int NOT NULL,
                record text NOT NULL,
                seq int NOT NULL,
                content text NOT NULL,
                confidence float8 NOT NULL,
                valid_from bigint NOT NULL,
                valid_to bigint,
                recorded_at bigint NOT NULL,
                provenance jsonb NOT NULL,
                PRIMARY KEY (store, record, seq),
                FOREIGN KEY (store, record) REFERENCES bankml_records ON DELETE CASCADE
            )""",
            "CREATE INDEX bankml_records_names ON bankml_records USING gin (names)",
            # record: NULL of a document's. words: our terms, ranked with length, how many they are. Rows of up to 4 KB
            # stay whole and words are packed last: each score reads them, and unpacking takes longer than that.
            """CREATE TABLE bankml_passages (
                store int NOT NULL REFERENCES bankml_stores ON DELETE CASCADE,
                id bigint NOT NULL,
                record text,
                document bigint NOT NULL,
                seq int NOT NULL,
                path text NOT NULL,
                title text NOT NULL,
                type text NOT NULL,
                heading text NOT NULL,
                text text NOT NULL,
                line int,
                page int,
                key text NOT NULL,
                length int NOT NULL,
                words tsvector NOT NULL,
                fingerprint text,
                row_digest bigint NOT NULL,
                PRIMARY KEY (store, id),
                FOREIGN KEY (store, record) REFERENCES bankml_records ON DELETE CASCADE
            ) WITH (toast_tuple_target = 4080)""",
            "ALTER TABLE bankml_passages ALTER COLUMN words SET STORAGE MAIN",
            "CREATE INDEX bankml_passages_record ON bankml_passages (store, record) WHERE record IS NOT NULL",
            # How many passages of a store hold a term.
            """CREATE TABLE bankml_terms (
                store int NOT NULL REFERENCES bankml_stores ON DELETE CASCADE,
                term text COLLATE "C" NOT NULL,
                passages int NOT NULL,
                PRIMARY KEY (term, store)
            )""",
            "CREATE INDEX bankml_terms_store ON bankml_terms (store)",
        ),
    ),
)
VERSION = len(MIGRATIONS)
KNOWN = """CREATE TABLE bankml_store_migrations (
    number int PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now()
)"""
# Of no width: stores of several models stand in one table, each with indexes of its own.
COLUMN = "ALTER TABLE bankml_passages ADD COLUMN embedding vector"
LOOK = """
SELECT current_setting('server_version'), current_setting('server_encoding'),
    (SELECT extversion FROM pg_extension WHERE extname = 'vector'),
    (SELECT extversion FROM pg_extension WHERE extname = 'vectorscale'),
    to_regclass('bankml_store_migrations') IS NOT NULL,
    (SELECT format_type(atttypid, atttypmod) FROM pg_attribute
        WHERE attrelid = to_regclass('bankml_passages') AND attname = 'embedding' AND NOT attisdropped)
"""


@dataclass(frozen=True)
class Schema:
    """What is in the database. `version`: the number of the last migration, 0 without tables."""

    server: str
    encoding: str
    vector: str | None  # pgvector's version
    vectorscale: str | None
    version: int
    column: bool

    @property
    def halves(self) -> bool:
        """Whether pgvector has halfvec."""
        return self._pgvector >= (0, 7)

    @property
    def iterative(self) -> bool:
        """Whether pgvector goes on where a filter let too few of an index through."""
        return self._pgvector >= (0, 8)

    @property
    def _pgvector(self) -> tuple[int, int]:
        found = re.match(r"(\d+)\.(\d+)", self.vector or "")
        return (int(found[1]), int(found[2])) if found else (0, 0)


def look(connection: Connection) -> Schema:
    """In a transaction, until the end of which names are looked for in pgvector's schema too. Changes nothing.

    Raises StoreError where the search_path leads to no schema, and for tables of a newer bankml.
    """
    if connection.execute("SELECT current_schema()").fetchone() == (None,):
        raise StoreError(NO_SCHEMA)
    connection.execute(EXTEND_PATH)
    row = connection.execute(LOOK).fetchone()
    assert row is not None
    server, encoding, vector, vectorscale, migrated, column = row
    version = _version(connection) if migrated else 0
    return Schema(server, encoding, vector, vectorscale, version, column is not None)


def prepare(connection: Connection, found: Schema) -> Schema:
    """Makes what is missing. Raises StoreError where the database cannot hold every text."""
    if found.encoding != "UTF8":
        raise StoreError(
            f"the database is encoded in {found.encoding}, which cannot hold every text: "
            "make one with `createdb --encoding UTF8 --template template0 …`"
        )
    if not found.version:
        connection.execute(KNOWN)
    for number, (name, statements) in list(enumerate(MIGRATIONS, 1))[found.version :]:
        for statement in statements:
            connection.execute(statement.encode())
        connection.execute("INSERT INTO bankml_store_migrations (number, name) VALUES (%s, %s)", (number, name))
    if found.vector and not found.column:
        connection.execute(COLUMN)
        connection.execute("ALTER TABLE bankml_passages ALTER COLUMN embedding SET STORAGE EXTERNAL")
    return look(connection)


def _version(connection: Connection) -> int:
    row = connection.execute("SELECT coalesce(max(number), 0) FROM bankml_store_migrations").fetchone()
    version = int(row[0]) if row else 0
    if version > VERSION:
        raise StoreError(
            f"{place(connection)}: its stores were published by a newer bankml (tables {version}, this one knows "
            f"{VERSION}): upgrade bankml with `pip install -U bankml`"
        )
    return version
