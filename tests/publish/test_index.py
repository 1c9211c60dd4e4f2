"""The index, and that the database finds what we find."""

import numpy as np
import psycopg

from bankml.nearest import nearest
from bankml.publish import index, publish, status
from bankml.publish.schema import Schema
from tests.postgres import rows

TEXTS = """The cat sleeps on the warm roof.|A kitten naps in the sun.|Dogs bark at night.|My puppy is loud after dark.
The stock market fell sharply.|Shares lost a tenth of their value.|Bread needs flour, water and salt.
How do I bake a loaf?
Rain is expected tomorrow.|The forecast says it will be wet.|He plays the violin.|She practises the piano daily.
The train was late again.|Our bus did not come.|Python is a programming language.|I write scripts to automate my work.
The moon orbits the earth.|Planets circle the sun.|She painted the wall blue.|The sky is a deep azure.""".replace(
    "\n", "|"
).split("|")
NEAREST = "SELECT seq, line FROM bankml_exchanges WHERE agent = 'ada' ORDER BY embedding <=> %s::vector LIMIT 5"


class Real:
    """Vectors of a real model, computed here."""

    def __init__(self, encoder, licence):
        self.model, self.digest, self.dims, self.licence = encoder.name, encoder.digest, encoder.dims, licence
        self._encoder = encoder

    def complete(self, progress):
        return ""

    def of(self, record):
        return self._encoder.encode([record["user"]])[0]


def test_sql_finds_what_exact_search_finds(dsn, history, encoder, seeded):
    vectors = Real(encoder, seeded().licence)
    path = history(*((text, "") for text in TEXTS))
    result = publish(path, "ada", include_private=True, dsn=dsn, vectors=vectors)
    publish(path, "bob", include_private=True, dsn=dsn, vectors=vectors)  # the same again must not disturb
    assert result.embedding == f"20 of 20 exchanges embedded with {encoder.name} ({encoder.digest[:8]}…)"
    matrix = encoder.encode(TEXTS)
    for query in ("a sleeping pet", "finance", "what is the weather like?", "music lessons", "astronomy"):
        vector = encoder.encode([query])[0]
        ours, _ = nearest(matrix, vector, 5)
        exact = np.argsort(-(matrix.astype(np.float64) @ vector.astype(np.float64)), kind="stable")[:5]
        assert ours.tolist() == exact.tolist()
        assert _nearest(dsn, vector, index_scan=False) == ours.tolist()
        assert _nearest(dsn, vector, index_scan=True) == ours.tolist()


def test_equal_vectors_come_in_the_order_of_their_lines(dsn, history, seeded):
    texts = ["same", "other"] * 5
    path = history(*zip(texts, texts, strict=True))
    publish(path, "ada", include_private=True, dsn=dsn, vectors=seeded())
    vector = seeded().of({"user": "same", "assistant": "same"})
    tied = NEAREST.replace(" LIMIT", ", seq LIMIT")
    ours, _ = nearest(np.array([seeded().of({"user": text, "assistant": text}) for text in texts]), vector, 5)
    assert [row[0] for row in rows(dsn, tied, _text(vector))] == ours.tolist() == [0, 2, 4, 6, 8]


def test_the_index_is_dropped_only_where_most_of_the_table_is_written(dsn, history, seeded):
    few, many = history(("a", "1"), name="few"), history(*((str(i), "") for i in range(9)), name="many")
    first = publish(many, "ada", include_private=True, dsn=dsn, vectors=seeded())
    assert (first.index, first.index_seconds is not None) == ("hnsw", True)
    before = rows(dsn, "SELECT to_regclass('bankml_exchanges_emb')::oid")
    kept = publish(few, "bob", include_private=True, dsn=dsn, vectors=seeded())
    assert (kept.index, kept.index_seconds) == ("hnsw", None)
    assert rows(dsn, "SELECT to_regclass('bankml_exchanges_emb')::oid") == before
    again = publish(many, "ada", include_private=True, dsn=dsn, vectors=seeded())
    assert (again.index, again.index_seconds is not None) == ("hnsw", True)
    assert rows(dsn, "SELECT to_regclass('bankml_exchanges_emb')::oid") != before


def test_an_index_of_the_same_name_in_another_schema_stays(postgres, history, seeded):
    dsn = postgres.database()
    for statement in (
        "CREATE EXTENSION vector",
        "CREATE SCHEMA ours",
        "CREATE SCHEMA before",
        "CREATE TABLE before.theirs (embedding vector(8))",
        "CREATE INDEX bankml_exchanges_emb ON before.theirs USING hnsw (embedding vector_cosine_ops)",
    ):
        rows(dsn, statement)
    path, broken = (
        history(("a", "1")),
        "UPDATE pg_index SET indisvalid = false WHERE indrelid = 'ours.bankml_exchanges'",
    )
    publish(path, "ada", include_private=True, dsn=f"{dsn} options='-csearch_path=ours,public'", vectors=seeded())
    there = f"{dsn} options='-csearch_path=before,ours,public'"
    for statement in ("SELECT 'kept and renewed'", f"{broken}::regclass"):
        rows(dsn, statement)
        assert publish(path, "ada", include_private=True, dsn=there, vectors=seeded()).index == "hnsw"
    indexes = "SELECT schemaname, tablename FROM pg_indexes WHERE indexname = 'bankml_exchanges_emb' ORDER BY 1"
    assert rows(dsn, indexes) == [("before", "theirs"), ("ours", "bankml_exchanges")]


def test_an_index_that_is_missing_or_broken_is_built_by_the_next_publishing(dsn, history, seeded):
    path = history(("a", "1"))
    publish(path, "ada", include_private=True, dsn=dsn, vectors=seeded())
    for statement in (
        "DROP INDEX bankml_exchanges_emb",
        "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'bankml_exchanges_emb'::regclass",
    ):
        rows(dsn, statement)
        assert status(dsn)["index"] is None
        assert publish(path, "bob", dsn=dsn).index == "hnsw"
        assert status(dsn)["index"] == "hnsw"


def test_an_index_that_cannot_be_built_fails_nothing(dsn, history, seeded):
    path = history(("a", "1"))
    publish(path, "ada", dsn=dsn)
    rows(dsn, "CREATE TABLE bankml_exchanges_emb ()")  # its name is taken
    result = publish(path, "ada", include_private=True, dsn=dsn, vectors=seeded())
    assert (result.embedded, result.index.startswith("none: it could not be built (")) == (1, True)
    assert rows(dsn, "SELECT count(embedding) FROM bankml_exchanges") == [(1,)]


def test_a_database_that_goes_away_while_the_index_is_built(dsn, history, seeded, monkeypatch):
    monkeypatch.setattr(index, "CREATE", "SELECT pg_terminate_backend(pg_backend_pid()) /* {} {} */")
    result = publish(history(("a", "1")), "ada", include_private=True, dsn=dsn, vectors=seeded())
    assert (result.embedded, result.index.startswith("none: it could not be built (terminating")) == (1, True)
    assert rows(dsn, "SELECT count(embedding) FROM bankml_exchanges") == [(1,)]


def test_vectors_too_wide_for_an_index(dsn, history, seeded):
    result = publish(history(("a", "1")), "ada", include_private=True, dsn=dsn, vectors=seeded(dims=2001))
    assert result.index == "none: HNSW takes vectors of at most 2,000 numbers, so searches are exact"
    assert publish(history(("a", "1")), "ada", include_private=True, dsn=dsn, vectors=seeded(dims=2001)).embedded == 1


def test_diskann_where_pgvectorscale_is():
    found = Schema("18.4", "UTF8", "0.8.5", None, True, False, "vector(3000)", None)
    assert index.kind(found) is None
    with_scale = Schema("18.4", "UTF8", "0.8.5", "0.9.0", True, False, "vector(3000)", "hnsw")
    assert index.kind(with_scale) == "diskann"
    assert index.renewed(with_scale, vectors=0, others=100)  # it was built before pgvectorscale came


def _nearest(dsn, vector, index_scan):
    with psycopg.connect(dsn) as connection:
        setting = "enable_seqscan" if index_scan else "enable_indexscan"
        connection.execute(f"SET LOCAL {setting} = off")
        connection.execute("SET LOCAL enable_bitmapscan = off")
        connection.execute("SET LOCAL hnsw.iterative_scan = strict_order")
        return [row[0] for row in connection.execute(NEAREST, (_text(vector),))]


def _text(vector):
    return f"[{','.join(map(str, vector.tolist()))}]"
