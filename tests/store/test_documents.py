"""Documents, chunks, words and vectors move together."""

import numpy as np
import pytest

from bankml.errors import StoreError
from bankml.store import Bound, DocumentRow, Passage, Store, config, documents, vectors

FINGERPRINT = "0123456789abcdef"


@pytest.fixture
def store(tmp_path):
    with Store.create(tmp_path / "kb.db") as store:
        with store.writing() as db:
            vectors.create(db, 4)
        yield store


def document(path=b"/a.md", sha256="0" * 64):
    return DocumentRow(path, "markdown", "A", sha256, 10, 1_700_000_000, "1")


def passages(*texts, heading=""):
    return [Passage(text, heading, 0, len(text), 1, None, 3) for text in texts]


def put(store, *texts, path=b"/a.md"):
    with store.writing() as db:
        replaced = documents.replace(db, document(path), passages(*texts))
        ids = [chunk_id for chunk_id, _ in replaced.added]
        rows = (
            np.arange(4 * len(ids), dtype=np.float32).reshape(-1, 4) + ids[0] if ids else np.empty((0, 4), np.float32)
        )
        vectors.insert(db, ids, FINGERPRINT, rows)
    return replaced


def chunks(store):
    with store.reading() as db:
        return db.execute("SELECT id, text FROM chunks ORDER BY document_id, seq").fetchall()


def found(store, term):
    with store.reading() as db:
        return [row[0] for row in db.execute("SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH ?", (f'"{term}"',))]


def test_only_what_is_new_is_to_be_embedded(store):
    first = put(store, "one", "two", "three")
    assert [text for _, text in first.added] == ["one", "two", "three"]
    second = put(store, "zero", "two", "three", "one")
    assert ([text for _, text in second.added], second.kept, second.removed) == (["zero"], 3, 0)
    ids = {text: chunk_id for chunk_id, text in first.added}
    assert chunks(store) == [(4, "zero"), (ids["two"], "two"), (ids["three"], "three"), (ids["one"], "one")]


def test_words_and_vectors_go_with_their_chunk(store):
    put(store, "apple", "pear", "plum")
    third = put(store, "apple", "quince")
    assert (third.kept, third.removed) == (1, 2)
    assert (found(store, "apple"), found(store, "pear"), found(store, "quince")) == ([1], [], [4])
    with store.reading() as db:
        assert [row[0] for row in db.execute("SELECT chunk_id FROM chunks_vec ORDER BY 1")] == [1, 4]


def test_an_id_is_never_given_twice(store):
    put(store, "one", "two")
    with store.writing() as db:
        assert documents.remove(db, [1]) == 1
    assert put(store, "three").added[0][0] == 3


def test_equal_passages_are_each_a_chunk(store):
    put(store, "same", "same", "other")
    again = put(store, "same", "other", "same", "same")
    assert (len(again.added), again.kept) == (1, 3)


def test_removing_a_document_leaves_nothing_of_it(store):
    put(store, "apple")
    put(store, "pear", path=b"/b\xff\n.md")
    with store.writing() as db:
        document_id, row = documents.find(db, b"/b\xff\n.md")
        assert row == document(b"/b\xff\n.md")
        documents.remove(db, [document_id])
    with store.reading() as db:
        counts = [db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in ("chunks", "chunks_vec")]
    assert (counts, found(store, "apple"), found(store, "pear")) == ([1, 1], [1], [])


def test_text_with_half_a_character_is_stored(store):
    put(store, "half \ud800 of it")
    assert chunks(store) == [(1, "half � of it")]
    assert not put(store, "half \ud800 of it").added


def test_words_are_cut_in_every_script(store):
    put(store, "知識ベースを検索", "ค้นหาความรู้", "Größe")
    assert (found(store, "検索"), found(store, "grösse")) == ([1], [3])


def test_a_vector_of_another_width_is_refused(store):
    put(store, "one")
    with pytest.raises(StoreError, match=r"contradicts this, which was not stored.*CHECK"), store.writing() as db:
        vectors.insert(db, [1], FINGERPRINT, np.zeros((1, 3), np.float32))


def test_the_epoch_tells_of_vectors_that_are_others(store):
    def epoch():
        with store.reading() as db:
            return config.epoch(db)

    put(store, "one")
    first = epoch()
    put(store, "one", "two")
    assert epoch() == first
    with store.writing() as db:
        vectors.insert(db, [1], "f" * 16, np.ones((1, 4), np.float32))
    second = epoch()
    assert second > first
    with store.writing() as db:
        vectors.create(db, 2, "chunks_vec_next")
        vectors.insert(db, [1, 2], FINGERPRINT, np.ones((2, 2), np.float32), "chunks_vec_next")
    assert epoch() == second
    with store.writing() as db:
        vectors.swap(db)
    assert epoch() > second
    put(store)  # the new table's rows go with their chunks too
    with store.reading() as db:
        assert db.execute("SELECT count(*) FROM chunks_vec").fetchone() == (0,)


def test_the_model_is_recorded_whole_or_not(store):
    bound = Bound("all-MiniLM-L6-v2", 384, "ab" * 32, FINGERPRINT)
    with store.writing() as db:
        config.put(db, "model_name", "all-MiniLM-L6-v2")
        assert Bound.read(db) is None
        bound.write(db)
    with store.reading() as db:
        assert Bound.read(db) == bound
