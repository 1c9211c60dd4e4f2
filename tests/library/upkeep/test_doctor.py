"""Each damage is planted, and the check that is for it tells it."""

import os
import sqlite3
from functools import partial

import numpy as np
import pytest

from bankml.errors import StoreError
from bankml.library.search import approximate, sidecar
from bankml.library.search.searcher import Searcher
from bankml.library.upkeep import doctor
from bankml.library.upkeep.doctor import neighbours
from bankml.library.upkeep.reindex import reindex
from bankml.store import Store, config, connection, successor, vectors
from tests.memory.remembered import record, remember

TEXTS = [f"text {number} of a few" for number in range(12)]


@pytest.fixture
def kb(store, put, small, embedder, tmp_path, monkeypatch):
    """A sound one of three files and one document that is no file."""
    monkeypatch.setenv("BANKML_EMBED_MODEL", str(small))
    for number in range(3):
        file = tmp_path / f"{number}.txt"
        file.write_text("some text")
        state = file.stat()
        put(store, str(file), TEXTS[3 * number : 3 * number + 3], size=state.st_size, modified=int(state.st_mtime))
    put(store, "standard input", TEXTS[9:])
    reindex(store, embedder(small))
    return store


@pytest.fixture
def examine(settings):
    """What is wrong, by check."""

    def examine(store):
        return {found.check: found for found in doctor.examine(store.path, settings) if not found.ok}

    return examine


@pytest.fixture
def repair(settings):
    return lambda store: doctor.repair(store.path, settings)


def damage(store, *statements):
    """As a program would that knows nothing of references and of virtual tables' shadows."""
    db = sqlite3.connect(store.path, isolation_level=None)
    db.execute("PRAGMA writable_schema = ON")
    for statement, *values in statements:
        db.execute(statement, *values)
    db.close()


def test_a_sound_one(kb, examine, repair):
    assert examine(kb) == {}
    assert repair(kb) == []


def test_an_empty_one(store, small, embedder, examine, monkeypatch):
    assert set(examine(store)) == {"model"}  # none is bound yet
    monkeypatch.setenv("BANKML_EMBED_MODEL", str(small))
    reindex(store, embedder(small))
    assert examine(store) == {}


def test_there_is_none(tmp_path, settings):
    (found,) = doctor.examine(tmp_path / "kb.db", settings)
    assert "no knowledge base at" in found.examples[0]
    with pytest.raises(StoreError):
        doctor.repair(tmp_path / "kb.db", settings)


def test_pages_that_are_damaged(kb, examine):
    with kb.writing() as db:
        db.execute("INSERT INTO config VALUES ('large', ?)", ("x" * 50_000,))
    kb.close()
    content = bytearray(kb.path.read_bytes())
    place = content.rindex(b"x" * 4000)  # the last page of a chain: its number of the next is made one of none
    content[place - place % 4096 : place - place % 4096 + 4] = b"\x00\x7f\xff\xff"
    kb.path.write_bytes(content)
    found = examine(kb)["pages"]
    assert found.remedy.startswith("copy the file")
    assert found.mend is None


def test_an_index_that_misses_rows_is_made_anew(kb, examine, repair):
    damage(
        kb,
        ("UPDATE sqlite_schema SET sql = 'CREATE INDEX chunks_key ON chunks (key) WHERE 0' WHERE name = 'chunks_key'",),
    )
    damage(kb, ("REINDEX chunks_key",))
    damage(kb, ("UPDATE sqlite_schema SET sql = 'CREATE INDEX chunks_key ON chunks (key)' WHERE name = 'chunks_key'",))
    assert "missing from index" in examine(kb)["pages"].examples[0]
    assert repair(kb) == ["indexes were made anew"]
    assert examine(kb) == {}


@pytest.mark.parametrize(
    "what",
    [
        *("INDEX chunks_key", "TRIGGER chunks_deleted", "INDEX documents_content", "INDEX assertions_valid"),
        *("INDEX records_kept", "TRIGGER assertions_kept"),
    ],
)
def test_an_index_or_a_trigger_that_is_gone_is_made_anew(kb, examine, repair, what):
    damage(kb, (f"DROP {what}",))
    assert examine(kb)["tables"].examples == (what.split()[1],)
    assert repair(kb) == ["indexes and triggers that were missing were made"]
    assert examine(kb) == {}


def test_a_table_that_is_another(kb, examine):
    damage(kb, ("ALTER TABLE documents ADD COLUMN colour",))
    assert examine(kb)["tables"].examples == ("documents",)


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("DELETE FROM config WHERE key = 'store_id'", "store_id is missing"),
        ("UPDATE config SET value = 'many' WHERE key = 'generation'", "generation is 'many'"),
        ("DELETE FROM config WHERE key = 'digest'", "digest of the model is missing"),
        ("UPDATE config SET value = '384' WHERE key = 'embedding_dim'", "chunks_vec is made for another"),
        ("UPDATE config SET value = '7' WHERE key = 'schema_version'", "schema_version is '7'"),
        ("UPDATE migrations SET name = 'mine'", "the migrations are"),
    ],
)
def test_a_record_that_is_not_whole(kb, examine, statement, said):
    damage(kb, (statement,))
    assert said in " ".join(examine(kb)["record"].examples)


def test_what_a_reindex_has_left(kb, examine, repair):
    with kb.writing() as db:
        vectors.create(db, 64, "chunks_vec_next")
        db.execute("CREATE TABLE chunks_vec_old (chunk_id INTEGER PRIMARY KEY)")
    assert examine(kb)["reindex"].wrong == 2
    assert repair(kb) == ["what ended reindexes had left was removed"]
    assert examine(kb) == {}


def test_a_reindex_that_is_not_finished_is_left_to_its_user(kb, examine, repair):
    with kb.reading() as db:
        from bankml.store import Bound

        bound = Bound.read(db)
    with kb.writing() as db:
        successor.begin(db, bound)
    assert "goes on" in examine(kb)["reindex"].remedy
    assert repair(kb) == []


def test_vectors_without_a_chunk_are_removed(kb, examine, repair):
    damage(kb, ("DELETE FROM chunks WHERE id = 2",))
    assert examine(kb)["references"].examples == ("chunks_vec 2 has no chunk",)
    assert repair(kb) == ["vectors without a chunk were removed"]
    assert examine(kb) == {}


def test_chunks_without_a_document_are_told_and_kept(kb, examine, repair):
    damage(kb, ("DELETE FROM documents WHERE id = 2",))
    assert examine(kb)["references"].wrong == 3
    repair(kb)
    with kb.reading() as db:
        assert db.execute("SELECT count(*) FROM chunks").fetchone() == (12,)


def test_a_text_that_is_not_what_it_was(kb, examine):
    damage(kb, ("UPDATE chunks SET text = 'another' WHERE id = 4",))
    assert examine(kb)["texts"].examples == ("chunk 4",)


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM chunks_fts WHERE rowid = 3",
        "INSERT INTO chunks_fts (rowid, terms) VALUES (99, 'stray')",
        "UPDATE chunks_fts SET terms = 'other words' WHERE rowid = 3",
        "UPDATE chunks_fts_content SET c0 = 'other words' WHERE id = 3",
        "DELETE FROM chunks_fts_data WHERE id > 10",
    ],
)
def test_words_are_taken_anew(kb, examine, repair, statement):
    damage(kb, (statement,))
    assert set(examine(kb)) == {"words"}
    assert repair(kb) == ["words were taken anew from all chunks"]
    assert examine(kb) == {}
    with kb.reading() as db:
        found = db.execute("SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH 'few'").fetchall()
    assert len(found) == 12


BROKEN = {
    "has 32 numbers, not 64": np.ones(32),
    "is not finite": np.full(64, np.nan),
    "has the length 8": np.ones(64),
    "has the length 0": np.zeros(64),
}


@pytest.mark.parametrize("said", BROKEN)
def test_vectors_that_cannot_be_compared_are_removed(kb, examine, repair, said):
    with kb.reading() as db:
        before = config.epoch(db)
    row = BROKEN[said].astype("<f4").tobytes()
    damage(
        kb,
        ("PRAGMA ignore_check_constraints = ON",),
        ("UPDATE chunks_vec SET vector = ? WHERE chunk_id = 5", (row,)),
    )
    found = examine(kb)["vectors"]
    assert found.examples == (f"chunk 5 {said}",)
    assert repair(kb) == ["1 vectors that could not be compared were removed"]
    assert examine(kb)["coverage"].examples == ("chunk 5 has none",)
    with kb.reading() as db:
        assert config.epoch(db) > before


def test_vectors_that_are_others_since_they_were_examined_stay(kb):
    good = np.eye(1, 64, dtype="<f4").tobytes()
    damage(kb, ("UPDATE chunks_vec SET vector = zeroblob (256) WHERE chunk_id = 5",))
    found = doctor.vectors.numbers(kb)
    damage(kb, ("UPDATE chunks_vec SET vector = ? WHERE chunk_id = 5", (good,)))
    assert found.mend(kb) == "0 vectors that could not be compared were removed"
    with kb.reading() as db:
        assert db.execute("SELECT vector FROM chunks_vec WHERE chunk_id = 5").fetchone() == (good,)


def test_words_that_could_not_be_looked_at_are_not_called_sound(kb, examine, monkeypatch):
    monkeypatch.setattr(connection, "PATIENCE", 0.1)
    damage(kb, ("UPDATE chunks_fts_data SET block = zeroblob (length (block)) WHERE id > 10",))
    assert examine(kb)["words"].found == "words do not find what they should"
    with kb.writing():  # another process that does not end
        found = examine(kb)
    assert set(found) == {"words"}
    assert found["words"].found == "it could not be looked at"
    assert "is being written by another process" in found["words"].examples[0]


def test_looking_changes_nothing(kb, examine):
    with kb.reading() as db:
        before = config.generation(db)
    assert examine(kb) == {}
    with kb.reading() as db:
        assert config.generation(db) == before


def test_vectors_of_another_recipe(kb, examine):
    damage(kb, ("UPDATE chunks_vec SET fingerprint = 'ffff' WHERE chunk_id IN (1, 2)",))
    found = examine(kb)["coverage"]
    assert (found.examples[0], found.remedy) == ("chunk 1 has one of ffff", "`bankml reindex`")


def test_a_matrix_that_differs_from_the_table_is_removed(
    kb, put, small, embedder, examine, repair, settings, monkeypatch
):
    monkeypatch.setattr(sidecar, "LEAST", 1)
    put(kb, "more", [f"one more text, {number}" for number in range(288)])
    reindex(kb, embedder(small))
    with Searcher(kb, lambda: embedder(small)) as searcher:
        searcher.search("text")
    assert examine(kb) == {}
    place = sidecar.place(kb.path)
    content = bytearray(place.read_bytes())
    content[-2 * 256] ^= 1  # the last row but one, of which its head has no sum
    place.write_bytes(content)
    assert examine(kb)["matrix"].examples == ("chunk 299",)
    assert repair(kb) == ["the matrix was removed; the next search makes it anew"]
    assert examine(kb) == {}


def test_an_index_of_neighbours_is_made_where_it_is_asked_for(kb, examine, repair, settings, monkeypatch):
    """None is nothing wrong."""
    pytest.importorskip("usearch")
    few = partial(neighbours.neighbours, large=5)
    assert neighbours.neighbours(kb, settings).found == "none is needed: every search is exact"
    monkeypatch.setattr(neighbours, "neighbours", few)
    assert examine(kb) == {}
    assert "`bankml doctor --repair` makes it" in few(kb, settings).found
    assert not approximate.place(kb.path).exists()
    assert repair(kb) == ["the index of neighbours was made"]
    assert approximate.place(kb.path).exists()
    assert few(kb, settings).found.startswith("searches use it")
    assert repair(kb) == []


def test_an_index_of_neighbours_that_cannot_be_written_is_told(kb, repair, monkeypatch):
    pytest.importorskip("usearch")
    monkeypatch.setattr(neighbours, "neighbours", partial(neighbours.neighbours, large=5))
    approximate.place(kb.path).mkdir()
    (approximate.place(kb.path) / "full").touch()
    assert repair(kb) == ["the index of neighbours could not be written; searches are exact"]


def test_files_that_are_gone_or_changed(kb, examine, tmp_path):
    (tmp_path / "0.txt").unlink()
    (tmp_path / "1.txt").write_text("more text than before")
    os.utime(tmp_path / "2.txt", (1, 1))  # touched: the bytes say that it is the same, if the store knows them
    with kb.writing() as db:
        sha256 = "db0c37041d1bf5c1b15d0c1a1ee2f5d0a1f4c7f4e3d1f6f6a3c0b5c4b9a3d0f1"
        db.execute("UPDATE documents SET sha256 = ? WHERE id = 3", (sha256,))
    found = examine(kb)["files"]
    assert [line.rpartition(": ")[2] for line in found.examples] == ["gone", "changed", "changed"]
    assert "--prune" in found.remedy


def test_a_file_that_was_only_touched_is_the_same(kb, examine, tmp_path):
    import hashlib

    os.utime(tmp_path / "2.txt", (1, 1))
    with kb.writing() as db:
        db.execute("UPDATE documents SET sha256 = ?", (hashlib.sha256(b"some text").hexdigest(),))
    assert examine(kb) == {}


def test_a_model_that_is_another_or_gone(kb, examine, small, tmp_path, monkeypatch):
    copy = tmp_path / "copy.gguf"
    copy.write_bytes(small.read_bytes())
    with kb.writing() as db:
        config.put(db, "model_name", str(copy))
    monkeypatch.setenv("BANKML_EMBED_MODEL", str(copy))
    assert examine(kb) == {}
    stamp = copy.stat()
    with copy.open("r+b") as file:  # a bit that rots: size and time stay
        file.seek(-1, os.SEEK_END)
        last = file.read(1)[0]
        file.seek(-1, os.SEEK_END)
        file.write(bytes([last ^ 1]))
    os.utime(copy, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert "has the sha256" in examine(kb)["model"].examples[0]
    copy.unlink()
    assert "model" in examine(kb)


def test_what_cannot_be_looked_at_is_told(kb, examine):
    damage(kb, ("DROP TABLE chunks_vec",))
    found = examine(kb)
    assert "chunks_vec" in found["vectors"].examples[0]
    assert found["vectors"].found == "it cannot be looked at"


def test_one_that_may_not_be_written(kb, examine):
    kb.close()
    with Store.open(kb.path, read_only=True) as readable:
        assert examine(readable) == {}


@pytest.mark.parametrize(
    ("damaged", "said"),
    [
        ("DELETE FROM records", "and there is none"),
        ("DELETE FROM assertions", "asserts nothing"),
        ("UPDATE records SET content = 'another'", "says another thing"),
        ("DELETE FROM chunks WHERE text = 'A fact.'", "has no passages"),
        ("UPDATE records SET superseded_by = id", "superseded by itself"),
        ("UPDATE records SET tags = '{'", "tags of rec_"),
        ("UPDATE records SET provenance = '{'", "provenance of rec_"),
        ("INSERT INTO feedback SELECT 1, id, 'wrong', '', '{', 9 FROM records", "provenance of rec_"),
    ],
)
def test_records_that_are_not_whole(kb, examine, embedder, small, damaged, said):
    remember(kb, None, record(1, "One", "A fact."))
    reindex(kb, embedder(small))
    assert examine(kb) == {}
    damage(kb, (damaged,))
    assert said in examine(kb)["records"].examples[0]


def test_an_assertion_that_cannot_be_read_is_told(kb, examine):
    remember(kb, None, record(1, "One", "A fact."), record(2, "Two", "Another fact."))
    damage(kb, ("DROP TRIGGER assertions_kept",), ("UPDATE assertions SET provenance = '{' WHERE id = 2",))
    (said,) = examine(kb)["records"].examples
    assert said.startswith("the provenance of rec_")
