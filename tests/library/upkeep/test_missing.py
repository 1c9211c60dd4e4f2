"""Only what lacks a vector is embedded; what has one is as it was."""

import numpy as np
import pytest

from bankml.errors import CancelledError, MismatchError
from bankml.library.upkeep.missing import embed_missing
from bankml.library.upkeep.reindex import reindex
from bankml.store import Bound
from tests.library.whole import count, faults

TEXTS = [f"the {number}th text" for number in range(40)]


def vectors(store):
    with store.reading() as db:
        rows = db.execute("SELECT text, vector FROM chunks JOIN chunks_vec ON chunk_id = id").fetchall()
    return dict(rows)


def check(store, model):
    truth = dict(zip(TEXTS, model.embed(TEXTS), strict=True))
    found = vectors(store)
    assert all(np.array_equal(np.frombuffer(vector, "<f4"), truth[text]) for text, vector in found.items())
    assert faults(store) == []
    return set(found)


def test_a_store_without_vectors_is_bound_and_gets_them(store, put, small, embedder):
    put(store, "/a", [*TEXTS, TEXTS[0]])
    done = embed_missing(store, embedder(small), most=16)
    assert (done.chunks, done.embedded, done.resumed, done.texts, done.before) == (41, 41, 0, 40, None)
    assert check(store, embedder(small)) == set(TEXTS)
    with store.reading() as db:
        assert Bound.read(db).dims == 64


def test_what_has_a_vector_is_left_as_it_is(store, put, small, embedder):
    put(store, "/a", TEXTS[:10])
    reindex(store, embedder(small))
    with store.writing() as db:
        db.execute("UPDATE chunks_vec SET vector = zeroblob(256) WHERE chunk_id = 1")
    put(store, "/b", TEXTS[8:])
    done = embed_missing(store, embedder(small))
    assert (done.chunks, done.embedded, done.resumed) == (42, 32, 10)
    assert set(vectors(store)) == set(TEXTS)
    with store.reading() as db:
        assert db.execute("SELECT vector FROM chunks_vec WHERE chunk_id = 1").fetchone() == (bytes(256),)
    assert embed_missing(store, embedder(small)).embedded == 0


def test_what_is_done_stays_done(store, put, small, embedder):
    put(store, "/a", TEXTS)
    with pytest.raises(CancelledError):
        embed_missing(store, embedder(small), cancelled=lambda: count(store, "chunks_vec") > 5, most=4)
    made = check(store, embedder(small))
    assert 5 < len(made) < 40
    assert embed_missing(store, embedder(small)).embedded == 40 - len(made)


def test_another_model_is_refused(store, put, small, smaller, embedder):
    put(store, "/a", TEXTS[:4])
    reindex(store, embedder(small))
    put(store, "/b", TEXTS[4:])
    with pytest.raises(MismatchError):
        embed_missing(store, embedder(smaller))
    assert check(store, embedder(small)) == set(TEXTS[:4])


def test_a_text_without_a_finite_vector_is_named(store, put, overflowing, tmp_path, embedder):
    put(store, "/a", ["plain words", "overflow", "others"])
    done = embed_missing(store, embedder(overflowing(tmp_path / "over.gguf", "overflow")))
    assert (done.embedded, [(one.path, one.seq) for one in done.without]) == (2, [("/a", 1)])
