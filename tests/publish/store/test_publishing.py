"""A store in a real PostgreSQL: what is there afterwards, whatever its texts hold and whoever is killed."""

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import numpy as np
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bankml import InputError, StoreError
from bankml.embedders import choose
from bankml.errors import LicenceError
from bankml.library.model import binding
from bankml.library.model.fingerprint import fingerprint
from bankml.publish.store import publishing, writer
from bankml.publish.store.choice import Choice
from bankml.store import Assertion, Bound, Store, assertions, records
from bankml.terms import tokens
from oracle import seeded
from tests.memory.remembered import record, remember
from tests.postgres import rows
from tests.publish.store.conftest import FACTS, add

RECIPES = "SELECT fingerprint FROM bankml_stores WHERE embedded > 0"
TABLES = ("stores", "records", "assertions", "passages", "terms")
EVERYTHING = Choice(private=True)
HOSTILE = (
    "'; DROP TABLE bankml_stores; --",
    "quotes ' \" ` and \\ backslashes \\. \\N $$ %s {0}",
    "a NUL \0 and half \ud800 of a pair",
    "\x1b[2Jcleared \u202e turned",
    "x" * 5000 + " " + "y" * 3000,
    "𝕬 ﬁ ß ٣ ก็ 漢字かな " * 20,  # noqa: RUF001
)


def publish(store, choice, dsn, allowed=("unknown",), **more):
    """With the tests' model, whose licence nobody knows."""
    return publishing.publish(store, choice, dsn, allowed=allowed, **more)


def test_records_and_passages_are_those_of_the_store(dsn, filled, tiny):
    said = Assertion("Vectors were kept elsewhere.", 0.5, 1, None, 2, {"by": "ada"})
    with filled.writing() as db:
        assertions.put(db, "rec_0000000000000000", said)
    done = publish(filled, Choice(), dsn)
    assert (done.name, done.records, done.passages, done.embedded) == ("team", 7, 9, 9)
    assert (done.written, done.removed, done.index) == (9, 0, "gin and hnsw")
    assert (done.model, done.digest) == ("tiny.gguf", tiny.digest)
    assert done.embedding == f"9 of 9 passages embedded with tiny.gguf ({tiny.digest[:8]}…)"
    assert rows(dsn, "SELECT title, content FROM bankml_records WHERE id = 'rec_0000000000000005'") == [FACTS[5]]
    assert rows(
        dsn, "SELECT content, confidence, valid_from, valid_to FROM bankml_assertions WHERE valid_from = 1"
    ) == [("Vectors were kept elsewhere.", 0.5, 1, None)]
    assert rows(dsn, "SELECT count(*) FROM bankml_assertions") == [(8,)]
    found = rows(dsn, "SELECT id, text, embedding::real[], record, path FROM bankml_passages ORDER BY id")
    with filled.reading() as db:
        own = db.execute(
            "SELECT c.id, c.text, v.vector FROM chunks c JOIN chunks_vec v ON v.chunk_id = c.id ORDER BY c.id"
        )
        for (id, text, vector, of_record, path), (wanted_id, wanted_text, wanted) in zip(found, own, strict=True):
            assert (id, text) == (wanted_id, wanted_text)
            assert np.array(vector, np.float32).tobytes() == wanted
            assert (of_record is None) == (path == "/team/docs/moon.md")


def test_only_what_changed_is_sent(dsn, filled, tiny, added):
    publish(filled, Choice(), dsn)
    before = dict(rows(dsn, "SELECT id, xmin::text FROM bankml_passages"))
    assert (publish(filled, Choice(), dsn).written, publish(filled, Choice(), dsn).removed) == (0, 0)
    added(filled, tiny, "/team/docs/moon.md", ["The moon orbits the earth.", "Nobody circles the sun."])
    done = publish(filled, Choice(), dsn)
    assert (done.written, done.removed, done.passages) == (1, 1, 9)
    after = dict(rows(dsn, "SELECT id, xmin::text FROM bankml_passages"))
    assert sum(before.get(id) == xmin for id, xmin in after.items()) == 8


def test_a_record_that_changed_keeps_its_passages_where_their_text_is_the_same(dsn, filled):
    publish(filled, Choice(), dsn)
    with filled.writing() as db:
        records.mark(db, "rec_0000000000000003", 1_800_000_000_000_000, status="archived")
    assert publish(filled, Choice(), dsn).written == 0
    found = (
        "SELECT status, (SELECT count(*) FROM bankml_passages WHERE record = r.id) FROM bankml_records r WHERE id = %s"
    )
    assert rows(dsn, found, "rec_0000000000000003") == [("archived", 1)]


def test_a_vector_that_changed_is_sent_and_one_that_is_none_is_not(dsn, filled):
    publish(filled, Choice(), dsn)
    other = np.full(64, 0.125, "<f4").tobytes()
    with filled.writing() as db:
        db.execute("UPDATE chunks_vec SET vector = ? WHERE chunk_id = 2", (other,))
    done = publish(filled, Choice(), dsn)
    assert (done.written, other in _vectors(dsn)) == (1, True)
    with filled.writing() as db:
        for id, bad in ((2, np.nan), (3, np.inf), (4, 0.0)):
            db.execute("UPDATE chunks_vec SET vector = ? WHERE chunk_id = ?", (np.full(64, bad, "<f4").tobytes(), id))
        db.execute("UPDATE chunks_vec SET fingerprint = 'another' WHERE chunk_id = 5")
    done = publish(filled, Choice(), dsn)
    assert (done.written, done.passages, done.embedded) == (4, 9, 5)


def test_nothing_private_is_there_in_any_column_nor_is_a_vector_of_it(dsn, filled, tiny, added):
    secret = "xyzzyplugh"
    remember(
        filled,
        tiny,
        record(0x20, f"{secret} of a session", f"{secret} once", namespace="session", session=secret),
        record(0x21, f"{secret} tagged", f"{secret} twice", f"{secret}.py", tags=("Private ",)),
        record(0x22, "Open", "Said by somebody.", provenance={"by": secret}, superseded_by=None),
    )
    with filled.writing() as db:
        assertions.put(db, "rec_0000000000000022", Assertion("Open", 1.0, 1, None, 1, {"by": secret}))
        assertions.put(db, "rec_0000000000000021", Assertion(f"{secret} before", 1.0, 1, None, 1))
        records.mark(db, "rec_0000000000000022", 1, superseded_by="rec_0000000000000021")
    for path in (f"/team/private/{secret}.md", "/team/PRIVATE.md", "/home/x/.private/a.md"):
        added(filled, tiny, path, [f"{secret} in {path}"])
    with filled.reading() as db:
        own = db.execute(
            "SELECT v.vector FROM chunks c JOIN chunks_vec v ON v.chunk_id = c.id WHERE c.text LIKE ?", (f"%{secret}%",)
        )
        private = {row[0] for row in own}
    assert len(private) == 5
    done = publish(filled, Choice(), dsn)
    assert (done.records, done.left_out) == (8, {"records": 2, "documents": 3})
    assert not _holds(dsn, secret)
    assert not _holds(dsn, "rec_0000000000000021")
    assert not private & _vectors(dsn)
    with_all = publish(filled, EVERYTHING, dsn)
    assert (with_all.records, with_all.passages, with_all.left_out) == (10, 15, {"records": 0, "documents": 0})
    assert _holds(dsn, secret)
    assert private <= _vectors(dsn)
    again = publish(filled, Choice(), dsn)
    assert (again.removed, again.passages) == (5, 10)
    assert not _holds(dsn, secret)
    assert not private & _vectors(dsn)


def test_documents_are_left_out_where_they_are_not_asked_for(dsn, filled, tiny, added):
    added(filled, tiny, "/else/where.md", ["Elsewhere."])
    assert publish(filled, Choice(documents=False), dsn).passages == 7
    some = publish(filled, Choice(paths=("/team/**",)), dsn)
    assert (some.passages, some.left_out["documents"]) == (9, 1)
    assert rows(dsn, "SELECT DISTINCT path FROM bankml_passages ORDER BY 1") == [("",), ("/team/docs/moon.md",)]


def test_nobodys_home_is_named(dsn, filled, tiny, added, monkeypatch):
    monkeypatch.setenv("HOME", "/home/ada")
    added(filled, tiny, "/home/ada/notes/a.md", ["A note."])
    publish(filled, Choice(), dsn)
    assert rows(dsn, "SELECT path FROM bankml_passages WHERE text = 'A note.'") == [("~/notes/a.md",)]
    assert not _holds(dsn, "/home/ada")


def test_hostile_text_is_data(dsn, store, tiny):
    given = [
        record(number, text, text, text.encode("utf-8", "replace"), tags=(text,)) for number, text in enumerate(HOSTILE)
    ]
    remember(store, tiny, *given)
    done = publish(store, Choice(), dsn)
    assert done.records == len(HOSTILE)
    found = rows(dsn, "SELECT title, content, tags FROM bankml_records ORDER BY id")
    for (title, content, tags), text in zip(found, HOSTILE, strict=True):
        shown = text.replace("\0", "\ufffd").replace("\ud800", "\ufffd")
        assert (title, content, tags) == (shown, shown, [shown])
    assert publish(store, Choice(), dsn).written == 0


def test_ten_megabytes(dsn, store):
    long = "word " * 100_000
    many = " ".join(f"{number:x}" * 40 for number in range(10_000))
    remember(
        store, None, record(1, "Long", long), record(2, "Many words", many), record(3, "One word", "x" * 10_000_000)
    )
    assert publish(store, Choice(), dsn).passages == 3
    assert rows(dsn, "SELECT length(content) FROM bankml_records ORDER BY id") == [(len(long),), (len(many),), (10**7,)]


TEXTS = st.lists(st.sampled_from(["a b", "b c c", "d", "e f a", "漢字 かな", ""]), max_size=6)


@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(TEXTS, min_size=2, max_size=4))
def test_what_terms_count_for_is_so_after_any_changes(postgres, tmp_path_factory, several):
    dsn = postgres.schema()
    with Store.create(tmp_path_factory.mktemp("terms") / "kb.db") as store:
        for texts in several:
            add(store, None, "/a.md", texts)
            publish(store, Choice(), dsn)
            wanted = Counter(term for text in texts for term in set(tokens(text)))
            assert dict(rows(dsn, "SELECT term, passages FROM bankml_terms")) == wanted
            length = sum(len(tokens(text)) for text in texts)
            assert rows(dsn, "SELECT passages, length FROM bankml_stores") == [(len(texts), length)]


def test_names(dsn, filled, tmp_path):
    publish(filled, Choice(), dsn)
    with Store.create(tmp_path / "other" / "team.db") as other:
        remember(other, None, record(1, "Other"))
        with other.reading() as db:
            short = db.execute("SELECT substr(value, 1, 6) FROM config WHERE key = 'store_id'").fetchone()[0]
        assert publish(other, Choice(), dsn).name == f"team-{short}"
        with pytest.raises(InputError, match="another store is published as 'team' there"):
            publish(other, Choice(), dsn, name="team")
        assert publish(other, Choice(), dsn, name="others").name == "others"
        assert publish(other, Choice(), dsn).name == "others"
    assert rows(dsn, "SELECT name, records FROM bankml_stores ORDER BY number") == [("team", 7), ("others", 1)]
    for name in ("", " ", "a\0b", "a\nb", "x" * 201, "\ud800"):
        with pytest.raises(InputError, match="is none: give"):
            publish(filled, Choice(), dsn, name=name)


def test_a_failure_anywhere_leaves_what_was_there(dsn, filled, tiny, added, monkeypatch):
    publish(filled, Choice(), dsn)
    before = _state(dsn)
    added(filled, tiny, "/team/docs/sun.md", ["The sun is a star."])
    remember(filled, tiny, record(30, "New"))
    for name in ("changes", "remove", "write_records", "copy", "count_terms"):
        with monkeypatch.context() as patch:
            real = getattr(writer, name)
            patch.setattr(writer, name, lambda *given, real=real: (real(*given), _fail(given[0])))
            with pytest.raises(StoreError):
                publish(filled, Choice(), dsn, name="renamed")
        assert _state(dsn) == before
    assert publish(filled, Choice(), dsn).passages == 11


def test_a_publisher_that_is_killed_leaves_what_was_there(dsn, filled, tiny, added):
    publish(filled, Choice(), dsn)
    before = _state(dsn)
    added(filled, tiny, "/team/docs/long.md", [f"Passage {number}." for number in range(500)])
    code = f"""
import time
from pathlib import Path
from bankml.publish.store.choice import Choice
from bankml.publish.store.publishing import publish
from bankml.store import Store
def slow(done, total):
    if done == 400:
        print("in the middle", flush=True)
        time.sleep(60)
publish(Store.open(Path({str(filled.path)!r})), Choice(), {dsn!r}, allowed=["unknown"], progress=slow)
"""
    root = Path(__file__).parents[3]
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=root) as child:
        assert child.stdout.readline() == "in the middle\n"
        os.kill(child.pid, signal.SIGKILL)
    assert _state(dsn) == before
    assert publish(filled, Choice(), dsn).passages == 509


def test_two_publishers_at_once_come_one_after_the_other(dsn, filled, tiny, tmp_path):
    with Store.create(tmp_path / "other" / "other.db") as other:
        remember(other, tiny, *(record(number, f"Other {number}") for number in range(20)))
        failures = []

        def work(store):
            try:
                for private in (True, False):
                    publish(store, Choice(private), dsn)
            except Exception as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(store,)) for store in (filled, filled, other, other)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not failures
    assert sorted(rows(dsn, "SELECT name, records, passages FROM bankml_stores")) == [("other", 20, 20), ("team", 7, 9)]


def test_without_pgvector_words_alone_and_with_it_vectors(postgres, filled):
    dsn = postgres.database()
    done = publish(filled, Choice(), dsn)
    assert (done.passages, done.embedded, done.index) == (9, 0, "gin; none for vectors")
    assert "no pgvector" in done.embedding
    rows(dsn, "CREATE EXTENSION vector")
    done = publish(filled, Choice(), dsn)
    assert (done.embedded, done.written, done.index) == (9, 9, "gin and hnsw")


def test_a_store_without_vectors_and_one_that_lacks_some(dsn, store, tiny):
    remember(store, None, record(1, "Words alone"))
    assert publish(store, Choice(), dsn).embedding.startswith("0 of 1 passages embedded: the store has no vectors")
    remember(store, tiny, record(2, "With a vector"))
    done = publish(store, Choice(), dsn)
    assert (done.embedded, done.passages) == (1, 2)
    assert "`bankml reindex` makes them" in done.why


def test_a_licence_that_is_not_known_to_be_open(dsn, filled):
    for allowed in ((), ("MIT",)):
        with pytest.raises(LicenceError, match="--allow-licence 'unknown'"):
            publish(filled, Choice(), dsn, allowed)
    assert rows(dsn, "SELECT to_regclass('bankml_stores')") == [(None,)]


def test_a_model_that_is_gone_has_no_known_licence(dsn, store, minilm):
    minilm_embedder = choose(name=str(minilm))
    remember(store, minilm_embedder, record(1, "One"))
    assert publish(store, Choice(), dsn, ()).embedded == 1
    with store.writing() as db:
        db.execute("UPDATE config SET value = '/nonesuch/gone.gguf' WHERE key = 'model_name'")
    with pytest.raises(LicenceError, match=r"gone\.gguf has no licence that is known"):
        publish(store, Choice(), dsn, ())
    assert publish(store, Choice(), dsn).model == "gone.gguf"
    assert not _holds(dsn, "nonesuch")


def test_tables_of_a_newer_bankml(dsn, filled):
    publish(filled, Choice(), dsn)
    rows(dsn, "INSERT INTO bankml_store_migrations (number, name) VALUES (99, 'later')")
    with pytest.raises(StoreError, match=r"published by a newer bankml \(tables 99, this one knows 1\): upgrade"):
        publish(filled, Choice(), dsn)


def test_a_database_of_another_encoding(postgres, filled):
    with pytest.raises(StoreError, match="encoded in SQL_ASCII"):
        publish(filled, Choice(), postgres.database("SQL_ASCII"))


def test_a_dry_run_tells_and_changes_nothing(dsn, filled, tiny, added):
    would = publish(filled, Choice(), dsn, dry_run=True)
    assert (would.dry_run, would.records, would.passages, would.embedded, would.written) == (True, 7, 9, 9, 9)
    assert rows(dsn, "SELECT to_regclass('bankml_stores')") == [(None,)]
    publish(filled, Choice(), dsn)
    before = _state(dsn)
    added(filled, tiny, "/team/docs/moon.md", ["The moon orbits the earth."])
    would = publish(filled, Choice(), dsn, dry_run=True)
    assert (would.written, would.removed, would.passages) == (0, 1, 8)
    assert _state(dsn) == before


def test_an_index_that_cannot_be_built_fails_nothing(dsn, filled):
    publish(filled, Choice(), dsn)
    rows(dsn, "DROP INDEX bankml_passages_words")
    rows(dsn, "CREATE TABLE bankml_passages_words ()")
    done = publish(filled, Choice(), dsn)
    assert (done.passages, done.index.startswith("none: it could not be built (")) == (9, True)
    rows(dsn, "DROP TABLE bankml_passages_words")
    assert publish(filled, Choice(), dsn).index == "gin and hnsw"


def test_stores_of_two_widths_stand_in_one_table(dsn, filled, tmp_path_factory):
    folder = tmp_path_factory.mktemp("wide")
    with Store.create(folder / "wide.db") as other:
        wide = choose(name=seeded.tiny(folder / "wide.gguf", hidden=128))
        remember(other, wide, record(1, "Wide"))
        publish(filled, Choice(), dsn)
        assert publish(other, Choice(), dsn).index == "gin and hnsw"
    found = rows(dsn, "SELECT vector_dims(embedding), count(*) FROM bankml_passages GROUP BY 1 ORDER BY 1")
    assert found == [(64, 9), (128, 1)]
    names = rows(
        dsn, "SELECT count(*) FROM pg_indexes WHERE tablename = 'bankml_passages' AND indexdef LIKE '%%hnsw%%'"
    )
    assert names[0][0] >= 4


def test_indexes_of_a_recipe_that_no_store_has_any_more_go(dsn, filled, tmp_path_factory):
    publish(filled, Choice(), dsn)
    with Store.create(tmp_path_factory.mktemp("large") / "large.db") as large:
        add(large, None, "/a.md", [f"Passage {number}" for number in range(20)])
        publish(large, Choice(), dsn)  # of which so much stays that no index is dropped before rows are written
    other = choose(name=seeded.tiny(tmp_path_factory.mktemp("other") / "other.gguf", hidden=128))
    (before,) = rows(dsn, RECIPES)
    with filled.writing() as db:
        db.execute("DELETE FROM chunks_vec")
        binding.bind(db, Bound(other.reference, other.dims, other.digest, fingerprint(other)))
    remember(filled, other, record(0x30, "Anew"))
    assert publish(filled, Choice(), dsn).index == "gin and hnsw"
    (after,) = rows(dsn, RECIPES)
    assert before != after
    names = rows(dsn, "SELECT indexname FROM pg_indexes WHERE schemaname = current_schema() ORDER BY 1")
    hnsw = [name for (name,) in names if re.fullmatch("bankml_passages_.*_(records|documents)", name)]
    assert hnsw == [f"bankml_passages_{after[0]}_{kind}" for kind in ("documents", "records")]


def test_a_file_whose_name_is_no_utf8(dsn, filled):
    path = filled.path.with_name(os.fsdecode(b"caf\xe9.db"))
    shutil.copy(filled.path, path)
    with Store.open(path) as store:
        assert publish(store, Choice(), dsn, dry_run=True).name == "caf\ufffd"
        assert publish(store, Choice(), dsn).name == "caf\ufffd"
        assert publish(store, Choice(), dsn, name="cafe").name == "cafe"


def _fail(connection):
    raise psycopg.OperationalError("planted")


def _tables(dsn):
    for table in TABLES:
        yield rows(dsn, f"SELECT * FROM bankml_{table} ORDER BY 1, 2, 3")


def _holds(dsn, text):
    return any(text in str(row) for table in _tables(dsn) for row in table)


def _vectors(dsn):
    found = rows(dsn, "SELECT embedding::real[] FROM bankml_passages WHERE embedding IS NOT NULL")
    return {np.array(vector, "<f4").tobytes() for (vector,) in found}


def _state(dsn):
    return [*_tables(dsn), rows(dsn, "SELECT indexname FROM pg_indexes WHERE schemaname = current_schema() ORDER BY 1")]
