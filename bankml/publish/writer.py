"""An agent's lines and vectors, replaced in one transaction that belongs to the caller."""

import re
from collections.abc import Iterator
from typing import LiteralString

import psycopg
from pgvector.psycopg import register_vector
from psycopg import sql
from psycopg.types.json import Jsonb

from bankml.publish.agent import Agent
from bankml.publish.connection import Connection
from bankml.publish.count import Count
from bankml.publish.lines import Line, Lines
from bankml.publish.refusal import first_line
from bankml.publish.schema import Schema
from bankml.publish.vectors import Vectors

# Of an agent that is new the columns that bankml knows nothing of are empty; of another they stay.
UPSERT = """
INSERT INTO bankml_agents (slug, name, persona, persona_raw, prompt, card, commitments, manifest, thot_cid,
    content_root, generation, private_included)
VALUES (%(slug)s, coalesce(%(name)s, %(slug)s), '{}', '', '', '{}', '{}', '{}', '', '', 0, %(private)s)
ON CONFLICT (slug) DO UPDATE SET name = coalesce(%(name)s, bankml_agents.name),
    private_included = EXCLUDED.private_included, published_at = now()
"""
# The manifest of the other program is signed by its own digest and stays as it is.
MANIFEST = """
UPDATE bankml_agents SET manifest = %s WHERE slug = %s AND (manifest = '{}' OR manifest ? 'bankml')
"""
DELETE = "DELETE FROM {} WHERE agent = %s"
OTHERS = "SELECT count(*) FROM bankml_exchanges WHERE embedding IS NOT NULL AND agent <> %s"
LINES = "SELECT count(*) FROM bankml_exchanges WHERE agent = %s"
COLUMNS = {"agent": "text", "seq": "int4", "line_sha256": "text", "line": "text", "rec": "jsonb"}
COPY = "COPY bankml_exchanges ({}) FROM STDIN (FORMAT binary)"
REFUSED_DATA = ("22", "54")  # SQLSTATE: a value that is none; one beyond a limit


def upsert(connection: Connection, agent: Agent, private: bool) -> None:
    """Its row, locked until the transaction ends."""
    connection.execute(UPSERT, {"slug": agent.slug, "name": agent.name, "private": private})


def remove(connection: Connection, slug: str, table: str = "bankml_exchanges") -> None:
    connection.execute(sql.SQL(DELETE).format(sql.Identifier(table)), (slug,))


def copy(connection: Connection, slug: str, lines: Lines, vectors: Vectors | None) -> Count:
    """Sends all lines, each with its vector or NULL; without `vectors` the column is not named.

    Raises InputError naming the line that is none, or that PostgreSQL does not take.
    """
    columns = dict(COLUMNS)
    if vectors is not None:
        register_vector(connection)
        columns["embedding"] = "vector"
    statement = sql.SQL(COPY).format(sql.SQL(", ").join(map(sql.Identifier, columns)))
    count = Count()
    try:
        with connection.cursor() as cursor, cursor.copy(statement) as sent:
            sent.set_types(list(columns.values()))
            for row in _rows(slug, lines, vectors, count):
                sent.write_row(row)
    except psycopg.Error as error:
        if (error.sqlstate or "").startswith(REFUSED_DATA) and (found := _line(error, lines)):
            raise lines.refused(found.number, f"is refused by PostgreSQL ({first_line(error)})") from None
        raise
    return count


def there(connection: Connection, schema: Schema, slug: str) -> int:
    """How many lines of the agent there are."""
    return _number(connection, LINES, slug) if schema.tables else 0


def vectors_of_others(connection: Connection, slug: str) -> int:
    """How many vectors of other agents there are."""
    return _number(connection, OTHERS, slug)


def write_manifest(connection: Connection, slug: str, manifest: dict[str, object]) -> None:
    connection.execute(MANIFEST, (Jsonb(manifest), slug))


def _number(connection: Connection, query: LiteralString, slug: str) -> int:
    row = connection.execute(query, (slug,)).fetchone()
    assert row is not None  # a count
    return int(row[0])


def _rows(slug: str, lines: Lines, vectors: Vectors | None, count: Count) -> Iterator[tuple[object, ...]]:
    for line in lines:
        row = (slug, line.seq, line.sha256, line.text, Jsonb(line.json, dumps=str))
        vector = count.add(line, vectors)
        yield row if vectors is None else (*row, vector)


def _line(error: psycopg.Error, lines: Lines) -> Line | None:
    """The line in which the server's COPY ended, whatever language it tells that in."""
    found = re.search(r"COPY bankml_exchanges, \D*(\d+)", error.diag.context or "")
    return next((line for line in lines if line.seq == int(found[1]) - 1), None) if found else None
