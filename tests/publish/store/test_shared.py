"""What a database answers of published stores, beside what the stores answer themselves."""

import re
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from bankml import InputError, StoreError
from bankml.embedders import choose
from bankml.errors import UnavailableError
from bankml.library.search.searcher import Searcher
from bankml.memory import calibration
from bankml.memory.recall.recaller import Recaller
from bankml.memory.recall.wanted import Wanted
from bankml.publish.connection import connect
from bankml.publish.store import arms, index, publishing, schema
from bankml.publish.store.choice import Choice
from bankml.publish.store.overlap import Documents, of_documents, of_records, overlap, overlaps, sample
from bankml.publish.store.scope import Scope
from bankml.publish.store.shared import Shared, shared
from bankml.publish.store.vectors import Vectors
from bankml.publish.store.words import Terms
from bankml.settings import Settings
from bankml.store import Store
from oracle import seeded
from tests.memory.remembered import record, remember
from tests.postgres import GUARDED, SHARED, rows

PAGE = Path(__file__).parents[3] / "docs" / "decisions.md"
SECRET = "hunter2hunter2"


def publish(store, choice, dsn):
    """With models whose licence nobody knows where the tests have them."""
    return publishing.publish(store, choice, dsn, allowed=["unknown"])


@pytest.fixture(scope="module")
def minilm_embedder(minilm):
    embedder = choose(name=str(minilm))
    yield embedder
    embedder.close()


@pytest.fixture(scope="module")
def team(tmp_path_factory, minilm_embedder):
    """Sections of a real page as records, a few of them private, and a document."""
    sections = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:41]
    given = []
    for number, section in enumerate(sections):
        title, _, content = section.partition("\n")
        tags = ("private",) if number % 10 == 9 else ("even",) if number % 2 == 0 else ()
        category = "decision" if number % 3 else "constraint"
        content = content.strip()[:400]
        given.append(record(number, title, content, f"src/part{number}.py", tags=tags, category=category))
    with Store.create(tmp_path_factory.mktemp("team") / "team.db") as store:
        remember(store, minilm_embedder, *given)
        yield store


@pytest.fixture(scope="module")
def place(postgres, team):
    """The DSN of where it was published."""
    dsn = postgres.schema()
    publish(team, Choice(), dsn)
    return dsn


@pytest.fixture
def ask(place, minilm_embedder):
    """The published store, with the tests' model."""
    with connect(place, read_only=True) as connection:
        yield asking(connection, minilm_embedder)


@pytest.fixture
def own(team, minilm_embedder):
    with Searcher(team, lambda: minilm_embedder) as searcher:
        yield Recaller(searcher)


def asking(connection, embedder, *names):
    """The stores of these names, or all, by one model."""
    measured = calibration.of(embedder.digest, Settings.read())
    return Shared(connection, names, Vectors(lambda recipe: embedder), lambda digest: measured)


def sampled(store, count):
    """Queries of all of its records."""
    with store.reading() as db:
        return sample(of_records(Choice(private=True).of_records(db)), count)


def ids(found):
    return [one.record.id for one in found.results]


def test_answers_are_those_of_the_store(place, team, minilm):
    found = overlaps(team, Choice(), "team", place, model=str(minilm), count=12)["records"]
    assert (found.queries, found.n) == (12, 10)
    assert found.mean >= 0.95
    assert found.least >= 0.7
    assert str(found).startswith(f"{found.mean:.3f} of 10 answers the same over 12 queries")


def test_a_whole_store_gives_the_same_order_and_the_same_numbers(postgres, team, own, minilm_embedder):
    dsn = postgres.schema()
    publish(team, Choice(private=True), dsn)
    with connect(dsn, read_only=True) as connection:
        ask = asking(connection, minilm_embedder)
        for query in (
            *sampled(team, 3),
            "how are vectors kept in src/part7.py?",
            "rec_0000000000000007",
            "zzz vectors",
        ):
            for options in ({}, {"fusion": "rrf"}, {"mode": "words"}, {"mode": "meaning"}, {"tags": ("even",)}):
                here, there = own.recall(query, 10, **options), ask.recall(query, 10, **options)
                assert ids(here) == ids(there)
                for one, other in zip(here.results, there.results, strict=True):
                    assert other.relevance == pytest.approx(one.relevance, abs=2e-5)
                    assert other.score == (
                        one.score if isinstance(one.score, str) else pytest.approx(one.score, abs=1e-4)
                    )
                    assert other.coverage == pytest.approx(one.coverage)
                    assert other.cosine == pytest.approx(one.cosine, abs=1e-5)
                    assert (other.words_rank, other.passage, other.record.cited[0].path, other.repository) == (
                        one.words_rank,
                        one.passage,
                        one.record.cited[0].path,
                        "team",
                    )


def test_few_are_scored_first_and_all_where_that_may_not_be_enough(place, team, monkeypatch):
    with connect(place, read_only=True) as connection, connection.transaction():
        schema.look(connection)
        for query in sampled(team, 10):
            terms, scope = Terms.read(connection, query, (1,)), Scope((1,), _wanted())
            for k in (1, 2, 3, 10):
                every = arms.by_words(connection, scope, terms, k)
                with monkeypatch.context() as patch:
                    patch.setattr(arms, "SCORED", 3)
                    assert arms.by_words(connection, scope, terms, k) == every


def test_filters_are_asked_of_the_database(ask):
    query = "vectors of a model"
    assert len(ids(ask.recall(query, 100))) == 36
    even = ask.recall(query, 100, tags=("even",))
    assert {one.record.tags for one in even.results} == {("even",)}
    assert even.status.startswith(f"{len(even.results)} of {len(even.results)} records")
    assert {one.record.category for one in ask.recall(query, 100, categories=("constraint",)).results} == {"constraint"}
    assert ids(ask.recall(query, statuses=("archived",))) == []
    assert "no record passes" in ask.recall(query, namespaces=("global",)).status
    hostile = "'; DROP TABLE bankml_stores; --"
    for options in ({"tags": (hostile,)}, {"session": hostile}):
        ask.recall(hostile, **options)
    for text in (hostile, "\\' | & ! <-> :*", "%s %(k)s {}", "a\0b", "\ud800", "x" * 100_000, "%"):
        assert ask.recall(text).status
    assert len(ids(ask.recall(query, 100))) == 36


def test_private_records_are_not_found(ask):
    found = ask.recall("rec_0000000000000009")
    assert "rec_0000000000000009" not in ids(found)


def test_a_role_that_may_only_read_suffices(postgres, place, team, minilm):
    schema_name = re.search(r"search_path=(\w+)", place)[1]
    rows(postgres.dsn(SHARED), "CREATE ROLE reader LOGIN")
    rows(postgres.dsn(SHARED), f"GRANT USAGE ON SCHEMA {schema_name} TO reader")
    reading = place.replace("user=postgres", "user=reader")
    with pytest.raises(StoreError, match="this role may not do that"), shared(reading) as asked:
        asked.recall("vectors")
    rows(postgres.dsn(SHARED), f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema_name} TO reader")
    with shared(reading, model=str(minilm)) as asked:
        assert "(meaning, 36 of 36 passages embedded)" in asked.recall("vectors").status
    with pytest.raises(StoreError, match="this role may not do that"):
        publish(team, Choice(), reading)


def test_the_index_serves_the_query(place, team, minilm_embedder):
    vector = minilm_embedder.embed(["vectors"], query=True)[0]
    with psycopg.connect(place) as connection:
        schema.look(connection)
        connection.execute("SET LOCAL enable_seqscan = off")
        connection.execute("SET LOCAL enable_sort = off")
        connection.execute("SET LOCAL enable_bitmapscan = off")
        (fingerprint,) = connection.execute("SELECT fingerprint FROM bankml_stores").fetchone()
        query = psycopg.sql.SQL(
            "EXPLAIN SELECT id FROM bankml_passages p WHERE {} ORDER BY p.{} <=> {} LIMIT 5"
        ).format(index.part(fingerprint, True, "p."), index.column(384), index.query(384))
        plan = str(connection.execute(query, {"vector": arms.text(vector)}).fetchall())
    assert index.name(fingerprint, records=True) in plan


@pytest.mark.parametrize(
    ("version", "searched"), [("0.8.0", "strict_order"), ("1.0", "strict_order"), ("0.7.4", "off"), (None, "off")]
)
def test_a_setting_that_an_older_pgvector_has_not_is_left_alone(place, version, searched):
    with connect(place, read_only=True) as connection, connection.transaction():
        found = schema.look(connection)
        connection.execute("SELECT '[1]'::vector")  # which loads it
        arms.settle(connection, replace(found, vector=version))
        assert connection.execute("SELECT current_setting('hnsw.iterative_scan')").fetchone() == (searched,)


def test_several_stores_are_one_corpus_and_can_be_told_apart(place, tmp_path, minilm_embedder):
    with Store.create(tmp_path / "other.db") as other:
        remember(other, minilm_embedder, record(0x500, "Sourdough", "Sourdough rises for a night."))
        remember(
            other,
            minilm_embedder,
            record(1, "A copy", "A copy of a record that is elsewhere, newer.", updated_at=2**60),
        )
        publish(other, Choice(), place)
    try:
        with connect(place, read_only=True) as connection:
            found = asking(connection, minilm_embedder).recall("how does bread rise?")
            assert (found.results[0].record.title, found.results[0].repository) == ("Sourdough", "other")
            assert "of 37 records" in found.status
            both = asking(connection, minilm_embedder).recall("rec_0000000000000001").results[0]
            assert (both.record.title, both.repository) == ("A copy", "team, other")
            only = asking(connection, minilm_embedder, "team").recall("how does bread rise?")
            assert "Sourdough" not in [one.record.title for one in only.results]
            with pytest.raises(InputError, match="no store 'x' is published there; there are other, team"):
                asking(connection, minilm_embedder, "x").recall("bread")
    finally:
        rows(place, "DELETE FROM bankml_stores WHERE name = 'other'")


def test_another_model_or_none_leaves_words(place, minilm_embedder, tiny, monkeypatch):
    with connect(place, read_only=True) as connection:
        found = asking(connection, tiny).recall("vectors")
        assert "BM25 (PostgreSQL) alone: the vectors there are of all-minilm-l6-v2" in found.status
        assert "another file" in found.status
        assert found.results[0].score == "uncalibrated (lexical-only)"
        with pytest.raises(UnavailableError, match="another file"):
            asking(connection, tiny).recall("vectors", mode="meaning")
    with shared(place) as asked:
        asked.recall("vectors", mode="words")
        assert "alone: " in asked.recall("vectors").status


def test_without_pgvector_words_answer(postgres, team, minilm_embedder):
    dsn = postgres.database()
    publish(team, Choice(), dsn)
    with connect(dsn, read_only=True) as connection:
        found = asking(connection, minilm_embedder).recall("vectors of a model")
    assert "alone: the database has no pgvector" in found.status
    assert found.results


def test_where_nothing_was_published(dsn, postgres):
    with pytest.raises(StoreError, match="no store is published there; `bankml publish --store`"), shared(dsn) as asked:
        asked.recall("anything")


def test_a_statement_that_takes_too_long_and_a_server_that_goes(place, minilm_embedder):
    limited = place.replace("options='", "options='-cstatement_timeout=1 ")
    with pytest.raises(StoreError, match="the server ended the work") as caught, shared(limited) as asked:
        asked.recall(PAGE.read_text(encoding="utf-8")[:4000], 1000, mode="words")
    assert "\n" not in str(caught.value)


def test_a_wrong_password_is_not_shown(postgres):
    rows(postgres.dsn("postgres"), f"DROP ROLE IF EXISTS {GUARDED}")
    rows(postgres.dsn("postgres"), f"CREATE ROLE {GUARDED} LOGIN PASSWORD '{SECRET}'")
    wrong = f"{postgres.dsn('postgres', user=GUARDED)} password={SECRET}x"
    with pytest.raises(StoreError, match="the password is wrong") as caught, shared(wrong):
        pass
    assert SECRET not in str(caught.value)
    rows(postgres.dsn("postgres"), f"DROP ROLE {GUARDED}")


def test_tables_of_a_newer_bankml(dsn, filled):
    publish(filled, Choice(), dsn)
    rows(dsn, "INSERT INTO bankml_store_migrations (number, name) VALUES (99, 'later')")
    with pytest.raises(StoreError, match="published by a newer bankml"), shared(dsn) as asked:
        asked.recall("anything")


def test_wide_vectors_are_found_as_halves(dsn, store, tmp_path_factory):
    wide = choose(name=seeded.tiny(tmp_path_factory.mktemp("wide") / "wide.gguf", hidden=2048, ffn=64, layers=1))
    remember(store, wide, record(1, "One thing"), record(2, "Another"))
    assert publish(store, Choice(), dsn).index == "gin and hnsw"
    with connect(dsn, read_only=True) as connection:
        found = asking(connection, wide).recall("One thing")
    cosine = wide.embed(["One thing"], query=True)[0] @ wide.embed(["One thing\nOne thing"])[0]
    assert found.results[0].cosine == pytest.approx(cosine, abs=1e-3)


def _wanted():
    return Wanted.of()


def test_documents_are_found_as_in_the_store(dsn, store, minilm_embedder, added):
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if len(line) > 60][:60]
    for number in range(0, len(lines), 20):
        added(
            store,
            minilm_embedder,
            f"/team/{number}.md",
            [line[:400] for line in [*lines[number : number + 20], lines[0]]],
        )
    remember(store, minilm_embedder, record(1, "A record", lines[0][:400]))
    publish(store, Choice(), dsn)
    with store.reading() as db:
        queries = sample(of_documents(db, Choice()), 5)
    with Searcher(store, lambda: minilm_embedder) as searcher, connect(dsn, read_only=True) as connection:
        asked = asking(connection, minilm_embedder)
        for query in (*queries, "the bytes of a file", lines[0][:60]):
            for mode in ("fused", "words", "meaning"):
                here, there = searcher.search(query, 10, mode), asked.search(query, 10, mode)
                assert [hit.text for hit in here.results] == [hit.text for hit in there.results]
                for one, other in zip(here.results, there.results, strict=True):
                    assert (other.id, other.path, other.words_rank, other.store) == (
                        one.id,
                        one.path,
                        one.words_rank,
                        "team",
                    )
                    assert other.score == pytest.approx(one.score, abs=1e-4)
        assert asked.search("?!").results == []
        assert "63 passages" in asked.search("file").status
        found = overlap(Documents(searcher, asked), queries)
    assert found.mean == 1.0
