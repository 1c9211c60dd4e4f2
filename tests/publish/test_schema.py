"""Tables: as the other program makes them, with vectors of one width, with and without pgvector."""

import psycopg
import pytest

from bankml import StoreError
from bankml.publish import publish, status
from bankml.publish.schema import AGENTS, EXCHANGES
from tests.postgres import rows

THREE = [("one", "1"), ("two", "2"), ("three", "3")]
COLUMNS = """
SELECT attname, format_type(atttypid, atttypmod), attnotnull FROM pg_attribute
WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum
"""
# What the other program may have made before us: more of an agent than we know, and its memory.
THEIRS = f"""
{AGENTS}; {EXCHANGES};
CREATE TABLE bankml_memory (LIKE bankml_exchanges INCLUDING ALL);
ALTER TABLE bankml_exchanges ADD COLUMN embedding vector(8);
CREATE INDEX bankml_exchanges_emb ON bankml_exchanges USING hnsw (embedding vector_cosine_ops);
INSERT INTO bankml_agents VALUES
    ('ada', 'Ada', '{{"p": 1}}', 'raw', 'You are Ada.', '{{}}', '{{}}', '{{"identity": {{}}}}', 'cid', 'root', 9, true);
INSERT INTO bankml_exchanges VALUES ('ada', 0, 'x', '{{}}', '{{}}', NULL);
INSERT INTO bankml_memory VALUES ('ada', 0, 'x', '{{}}', '{{}}'), ('ada', 1, 'x', '{{}}', '{{}}');
"""
AGENT = (
    "slug text, name text, persona jsonb, persona_raw text, prompt text, card jsonb, commitments jsonb, "
    "manifest jsonb, thot_cid text, content_root text, generation integer, private_included boolean, "
    "published_at timestamp with time zone"
)
EXCHANGE = "agent text, seq integer, line_sha256 text, line text, rec jsonb"


def test_names_and_types(dsn, history, seeded):
    publish(history(*THREE), "ada", include_private=True, dsn=dsn, vectors=seeded())
    agents, exchanges = (rows(dsn, COLUMNS, table) for table in ("bankml_agents", "bankml_exchanges"))
    assert ", ".join(f"{name} {kind}" for name, kind, _ in agents) == AGENT
    assert ", ".join(f"{name} {kind}" for name, kind, _ in exchanges) == f"{EXCHANGE}, embedding vector(8)"
    assert [name for name, _, needed in agents + exchanges if not needed] == ["embedding"]


def test_an_agent_goes_with_all_its_lines(dsn, history, seeded):
    publish(history(*THREE), "ada", include_private=True, dsn=dsn, vectors=seeded())
    rows(dsn, "DELETE FROM bankml_agents WHERE slug = 'ada'")
    assert rows(dsn, "SELECT count(*) FROM bankml_exchanges") == [(0,)]


def test_tables_and_agents_of_the_other_program(dsn, history, seeded):
    statements(dsn, THEIRS)
    result = publish(history(*THREE), "ada", include_private=True, dsn=dsn, vectors=seeded())
    assert (result.exchanges, result.embedded, result.index) == (3, 3, "hnsw")
    kept = "SELECT name, persona_raw, manifest, generation, private_included FROM bankml_agents WHERE slug = 'ada'"
    assert rows(dsn, kept) == [("Ada", "raw", {"identity": {}}, 9, True)]
    assert rows(dsn, "SELECT count(*) FROM bankml_memory") == [(2,)]
    publish(history(*THREE), "bob", include_private=True, dsn=dsn, vectors=seeded())
    publish(history(*THREE), "ada", dsn=dsn)  # nothing private may be left, wherever it lies
    assert rows(dsn, kept) == [("Ada", "raw", {"identity": {}}, 9, False)]
    assert rows(dsn, "SELECT agent FROM bankml_memory UNION SELECT agent FROM bankml_exchanges") == [("bob",)]


def test_another_width_is_an_error_with_the_remedy(dsn, history, seeded):
    path = history(*THREE)
    publish(path, "ada", include_private=True, dsn=dsn, vectors=seeded())
    for dry_run in (False, True):
        with pytest.raises(StoreError) as caught:
            publish(path, "bob", include_private=True, dsn=dsn, vectors=seeded(dims=16), dry_run=dry_run)
        assert "vector(8)" in str(caught.value)
        assert "vectors of 16 numbers" in str(caught.value)
        assert "ALTER TABLE bankml_exchanges DROP COLUMN embedding" in str(caught.value)
    assert rows(dsn, "SELECT slug FROM bankml_agents") == [("ada",)]
    rows(dsn, "ALTER TABLE bankml_exchanges DROP COLUMN embedding")  # the remedy
    assert publish(path, "bob", include_private=True, dsn=dsn, vectors=seeded(dims=16)).embedded == 3
    assert status(dsn)["dims"] == 16


@pytest.mark.parametrize("column", ["vector", "halfvec(8)", "real[]"])
def test_a_column_of_another_type_is_an_error(dsn, history, seeded, column):
    publish(history(*THREE), "ada", dsn=dsn)
    rows(dsn, f"ALTER TABLE bankml_exchanges ADD COLUMN embedding {column}")
    with pytest.raises(StoreError, match="the column embedding of bankml_exchanges is"):
        publish(history(*THREE), "ada", include_private=True, dsn=dsn, vectors=seeded())


def test_without_pgvector_the_lines_alone_and_with_it_the_column(postgres, history, seeded):
    dsn, path = postgres.database(), history(*THREE)
    result = publish(path, "ada", include_private=True, dsn=dsn, vectors=seeded())
    assert (result.exchanges, result.embedded, result.model) == (3, 0, None)
    assert "0 of 3 exchanges embedded: the database has no pgvector" in result.embedding
    assert "embedding" not in [row[0] for row in rows(dsn, COLUMNS, "bankml_exchanges")]
    assert status(dsn)["agents"][0]["embedded"] == 0
    rows(dsn, "CREATE EXTENSION vector")
    result = publish(path, "ada", include_private=True, dsn=dsn, vectors=seeded())
    assert (result.embedded, result.index) == (3, "hnsw")


def test_pgvector_in_a_schema_of_its_own(postgres, history, seeded):
    dsn = postgres.database()
    statements(dsn, "CREATE SCHEMA extensions; CREATE EXTENSION vector SCHEMA extensions")
    result = publish(history(*THREE), "ada", include_private=True, dsn=dsn, vectors=seeded())
    assert (result.embedded, result.index, status(dsn)["dims"]) == (3, "hnsw", 8)
    assert publish(history(*THREE), "ada", include_private=True, dsn=dsn, vectors=seeded()).embedded == 3
    assert rows(dsn, "SELECT relnamespace::regnamespace::text FROM pg_class WHERE relname = 'bankml_agents'") == [
        ("public",)
    ]


@pytest.mark.parametrize("path", ["", "nonesuch"])
def test_no_schema_to_make_tables_in(postgres, history, seeded, path):
    """They would lie in pgvector's, which is looked into behind all others."""
    dsn = postgres.database()
    statements(dsn, "CREATE SCHEMA extensions; CREATE EXTENSION vector SCHEMA extensions")
    there = f"{dsn} options='-csearch_path={path}'"
    with pytest.raises(StoreError, match=r"no schema .* PGOPTIONS='-c search_path=public'"):
        publish(history(*THREE), "ada", include_private=True, dsn=there, vectors=seeded())
    with pytest.raises(StoreError, match="no schema"):
        status(there)
    assert rows(dsn, "SELECT relname FROM pg_class WHERE relname LIKE 'bankml%%'") == []


def test_a_database_in_another_encoding_is_refused(postgres, history, seeded):
    dsn = postgres.database(encoding="LATIN1")
    with pytest.raises(StoreError, match="encoded in LATIN1"):
        publish(history(*THREE), "ada", include_private=True, dsn=dsn, vectors=seeded())


def statements(dsn: str, text: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(text)
