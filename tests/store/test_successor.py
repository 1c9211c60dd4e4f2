"""New vectors beside the old, and in their place at once."""

import numpy as np
import pytest

from bankml.errors import BusyError, StoreError
from bankml.store import Bound, DocumentRow, Passage, Store, config, documents, successor, vectors

OLD = Bound("old", 4, "aa" * 32, "a" * 16)
NEW = Bound("new", 2, "bb" * 32, "b" * 16)


def put(store, *texts, path=b"/a.md"):
    with store.writing() as db:
        row = DocumentRow(path, "markdown", "A", "0" * 64, 10, 1_700_000_000, "1")
        added = documents.replace(db, row, [Passage(text, "", 0, len(text), 1, None, 3) for text in texts]).added
        vectors.insert(db, [chunk_id for chunk_id, _ in added], OLD.fingerprint, np.ones((len(added), 4), np.float32))


@pytest.fixture
def store(tmp_path):
    with Store.create(tmp_path / "kb.db") as store:
        with store.writing() as db:
            vectors.create(db, OLD.dims)
            OLD.write(db)
        put(store, "one", "two", "one", "three")
        yield store


def rows(store, table="chunks_vec"):
    with store.reading() as db:
        found = db.execute(f"SELECT chunk_id, fingerprint, vector FROM {table} ORDER BY 1").fetchall()
    return [(chunk_id, fingerprint, np.frombuffer(vector, "<f4").tolist()) for chunk_id, fingerprint, vector in found]


def make(store, texts, bound=NEW):
    """New vectors of some texts: (length, 1) of each."""
    with store.writing() as db:
        successor.begin(db, bound)
        keys = [key for key in successor.lacking(db, bound) if successor.texts(db, [key])[key] in texts]
        matrix = np.array([[len(successor.texts(db, [key])[key]), 1] for key in keys], np.float32).reshape(-1, 2)
        return successor.insert(db, keys, matrix, bound, truncated={0} if "three" in texts else set())


def test_the_old_stay_until_the_new_are_put_in_their_place(store):
    old = rows(store)
    assert make(store, {"one", "two"}) == 3  # equal texts get theirs together
    assert rows(store) == old
    assert make(store, {"three"}) == 1
    with store.reading() as db:
        assert (Bound.read(db), successor.lacking(db, NEW)) == (OLD, [])
        assert successor.unfinished(db) == successor.Unfinished(NEW, 4, 1)
        epoch = config.epoch(db)
    with store.writing() as db:
        assert successor.finish(db, NEW) == 1
    assert rows(store) == [(n, NEW.fingerprint, [length, 1.0]) for n, length in ((1, 3), (2, 3), (3, 3), (4, 5))]
    with store.reading() as db:
        assert (Bound.read(db), successor.unfinished(db)) == (NEW, None)
        assert config.epoch(db) > epoch


def test_what_was_replaced_is_removed_bit_by_bit(store, monkeypatch):
    monkeypatch.setattr(vectors, "SWEPT", 3)
    make(store, {"one", "two", "three"})
    with store.writing() as db:
        successor.finish(db, NEW)
    left = []
    for more in (True, False, False):
        with store.writing() as db:
            assert vectors.sweep(db) is more
            left.append(vectors.exists(db, "chunks_vec_old"))
    assert left == [True, False, False]
    assert len(rows(store)) == 4


def test_a_second_time_and_more(store):
    for bound in (NEW, OLD, NEW):
        with store.writing() as db:
            successor.begin(db, bound)
            keys = successor.lacking(db, bound)
            successor.insert(db, keys, np.ones((len(keys), bound.dims), np.float32), bound, ())
            successor.finish(db, bound)
    assert {fingerprint for _, fingerprint, _ in rows(store)} == {NEW.fingerprint}


def test_what_was_made_is_kept_for_this_recipe_alone(store):
    make(store, {"one"})
    with store.writing() as db:
        assert successor.begin(db, NEW).chunks == 2
        assert len(successor.lacking(db, NEW)) == 2
        other = Bound("new", 2, NEW.digest, "c" * 16)
        assert successor.begin(db, other) == successor.Unfinished(other, 0, 0)
        assert len(successor.lacking(db, other)) == 3


def test_chunks_come_and_go_meanwhile(store):
    make(store, {"one", "two", "three"})
    put(store, "one", "four")  # of the first document nothing stays but the first of "one"
    assert [row[0] for row in rows(store, "chunks_vec_next")] == [1]
    with store.reading() as db:
        (key,) = successor.lacking(db, NEW)
        assert successor.texts(db, [key, "gone"]) == {key: "four"}
    with store.writing() as db:
        assert successor.insert(db, [key, "gone"], np.ones((2, 2), np.float32), NEW, ()) == 1


def test_giving_up_leaves_nothing(store):
    make(store, {"one"})
    with store.writing() as db:
        successor.discard(db)
        assert successor.unfinished(db) is None
        assert not vectors.exists(db, "chunks_vec_next")
        assert not db.execute("SELECT key FROM config WHERE key LIKE 'next%'").fetchall()


def test_new_vectors_have_the_new_width(store):
    with store.writing() as db:
        successor.begin(db, NEW)
        keys = successor.lacking(db, NEW)
    with pytest.raises(StoreError, match=r"contradicts this, which was not stored.*CHECK"), store.writing() as db:
        successor.insert(db, keys, np.ones((3, 3), np.float32), NEW, ())
    assert not rows(store, "chunks_vec_next")


def test_a_run_whose_place_another_took_stores_nothing_there(store):
    """And what it has of other vectors is none of its own."""
    make(store, {"one"})
    other = Bound("new", 2, NEW.digest, "c" * 16)
    with store.writing() as db:
        successor.begin(db, other)
        keys = successor.lacking(db, other)
    uses = (
        lambda db: successor.lacking(db, NEW),
        lambda db: successor.insert(db, keys, np.ones((len(keys), 2), np.float32), NEW, ()),
        lambda db: successor.finish(db, NEW),
    )
    for use in uses:
        with pytest.raises(BusyError, match="reindexed by another"), store.writing() as db:
            use(db)
    assert rows(store, "chunks_vec_next") == []
    with store.writing() as db:
        successor.discard(db)
    for use in uses:
        with pytest.raises(BusyError), store.writing() as db:
            use(db)


def test_only_vectors_of_this_recipe_count(store):
    make(store, {"one", "two", "three"})
    with store.writing() as db:
        db.execute("UPDATE chunks_vec_next SET fingerprint = 'x' WHERE chunk_id = 2")
        assert len(successor.lacking(db, NEW)) == 1
