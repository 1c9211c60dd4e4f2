"""What a database has of bankml's: for `bankml publish status`."""

from typing import Any

from bankml.publish.connection import Connection, connect, place
from bankml.publish.schema import Schema, look
from bankml.publish.store.listed import stores
from bankml.settings import Settings

AGENTS = """
SELECT slug, name, private_included, published_at, manifest ->> 'model', manifest ->> 'digest',
    coalesce(lines, 0), coalesce(exchanges, 0), coalesce(embedded, 0)
FROM bankml_agents LEFT JOIN (
    SELECT agent, count(*) AS lines, count(*) FILTER (WHERE {said}) AS exchanges, {embedded} AS embedded
    FROM bankml_exchanges GROUP BY agent
) AS counted ON agent = slug ORDER BY slug
"""
# As bankml.history.exchange.of: two texts, one of which may be missing or empty.
SAID = """
(rec -> 'user' IS NULL OR jsonb_typeof(rec -> 'user') IN ('string', 'null'))
AND (rec -> 'assistant' IS NULL OR jsonb_typeof(rec -> 'assistant') IN ('string', 'null'))
AND concat(rec ->> 'user', rec ->> 'assistant') <> ''
"""
COUNTS = ("lines", "exchanges", "embedded")
FIELDS = ("slug", "name", "private_included", "published_at", "model", "digest", *COUNTS)


def contents(dsn: str | None = None, settings: Settings | None = None) -> dict[str, Any]:
    """Of the database: where it is, its version and extensions, the width of vectors, the index, agents and stores.

    Raises InputError and StoreError as `publish` does. Nothing is changed.
    """
    with connect(dsn, settings, read_only=True) as connection, connection.transaction():
        schema = look(connection)
        agents = _agents(connection, schema)
        return {
            "database": place(connection),
            "server": schema.server,
            "extensions": {"vector": schema.vector, "vectorscale": schema.vectorscale},
            "tables": schema.tables,
            "dims": schema.dims,
            "index": schema.index,
            **{name: sum(agent[name] for agent in agents) for name in COUNTS},
            "agents": agents,
            "stores": stores(connection),
        }


def _agents(connection: Connection, schema: Schema) -> list[dict[str, Any]]:
    if not schema.tables:
        return []
    rows = connection.execute(AGENTS.format(said=SAID, embedded="count(embedding)" if schema.embedding else "0"))
    return [dict(zip(FIELDS, row, strict=True)) for row in rows]
