"""Every chunk is embedded anew, all or nothing, however it is interrupted."""

import json
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from bankml import Encoder
from bankml.errors import BusyError, CancelledError, NotFiniteError
from bankml.library.upkeep.reindex import discard, reindex
from bankml.store import Bound, documents, successor, vectors

ROOT = Path(__file__).parents[2]
TEXTS = [f"the {number}th of many short texts" for number in range(250)]


def rows(store, table="chunks_vec"):
    """Of each chunk its text, and of those that have one the recipe and the vector."""
    with store.reading() as db:
        return db.execute(f"SELECT text, fingerprint, vector FROM chunks LEFT JOIN {table} ON id = chunk_id").fetchall()


def bound(store):
    with store.reading() as db:
        return Bound.read(db)


def unfinished(store):
    with store.reading() as db:
        return successor.unfinished(db)


def expected(model, texts):
    """The bits of their vectors."""
    with Encoder(model) as encoder:
        return {text: vector.tobytes() for text, vector in zip(texts, encoder.encode(texts), strict=True)}


def check(store, truth):
    """Every vector is its text's by the model that the store names: whole, and never mixed."""
    model = bound(store)
    found = rows(store)
    assert {fingerprint for _, fingerprint, _ in found} == {model.fingerprint}
    assert all(vector == truth[model.dims][text] for text, _, vector in found)
    with store.reading() as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert not db.execute("PRAGMA foreign_key_check").fetchall()


def interrupt(store, embedder, most=4, looks=6):
    """A reindex that is given up after some batches, which embed a chunk, two chunks, four…"""
    asked = iter([False] * looks)
    with pytest.raises(CancelledError):
        reindex(store, embedder, cancelled=lambda: next(asked, True), most=most)


def test_the_same_model_again(store, put, small, embedder):
    put(store, "/a", TEXTS[:20])
    first = reindex(store, embedder(small))
    assert (first.before, first.chunks, first.embedded, first.bound.dims) == (None, 20, 20, 64)
    with store.writing() as db:
        db.execute("UPDATE chunks_vec SET vector = zeroblob (256)")
    again = reindex(store, embedder(small))
    assert (again.before, again.embedded, again.resumed) == (first.bound, 20, 0)
    check(store, {64: expected(small, TEXTS[:20])})


def test_another_model_with_another_width(store, put, small, smaller, embedder):
    put(store, "/a", TEXTS[:20])
    reindex(store, embedder(small))
    done = reindex(store, embedder(smaller))
    assert (done.before.dims, done.bound.dims, done.bound.model_name) == (64, 32, str(smaller))
    assert done.bound == bound(store)
    check(store, {32: expected(smaller, TEXTS[:20])})
    with store.reading() as db:
        tables = {name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE name LIKE 'chunks_vec%'")}
    assert tables == {"chunks_vec"}


def test_nothing_to_embed(store, small, embedder):
    assert reindex(store, embedder(small)).chunks == 0
    assert bound(store).dims == 64


def test_equal_texts_are_embedded_once(store, put, small, embedder):
    put(store, "/a", ["same"] * 5 + ["other"])
    put(store, "/b", ["same"])
    done = reindex(store, embedder(small))
    assert (done.embedded, done.texts) == (7, 2)
    check(store, {64: expected(small, ["same", "other"])})


def test_texts_longer_than_the_model_reads_are_counted(store, put, small, embedder):
    put(store, "/a", ["word " * 600, "word " * 600, "short"])
    done = reindex(store, embedder(small))
    assert done.truncated == 2
    assert done.tokens == 512 + embedder(small).count(["short"])[0]


def test_a_text_without_a_vector_is_left_without_one_and_told(store, put, overflowing, embedder, tmp_path):
    model = overflowing(tmp_path / "overflowing.gguf", "boom")
    put(store, "/a", ["fine", "boom", "good"])
    put(store, "/b", ["well", "boom"])
    done = reindex(store, embedder(model))
    assert [(one.path, one.seq) for one in done.without] == [("/a", 1), ("/b", 1)]
    assert "no finite vector" in done.without[0].error
    assert (done.chunks, done.embedded) == (5, 3)
    assert {text for text, _, vector in rows(store) if vector is None} == {"boom"}


def test_weights_that_are_broken_replace_nothing(store, put, small, overflowing, embedder, tmp_path):
    put(store, "/a", ["boom 1", "boom 2", "good"])
    reindex(store, embedder(small))
    old = rows(store)
    with pytest.raises(NotFiniteError, match="2 of 3 chunks would have no vector"):
        reindex(store, embedder(overflowing(tmp_path / "overflowing.gguf", "boom")))
    assert rows(store) == old
    assert bound(store).dims == 64


def test_what_is_given_up_is_gone_on_with(store, put, small, smaller, embedder):
    put(store, "/a", TEXTS[:40])
    reindex(store, embedder(small))
    interrupt(store, embedder(smaller))
    check(store, {64: expected(small, TEXTS[:40])})
    half = unfinished(store).chunks
    assert 0 < half < 40
    done = reindex(store, embedder(smaller))
    assert (done.resumed, done.embedded) == (half, 40 - half)
    check(store, {32: expected(smaller, TEXTS[:40])})


def test_of_another_recipe_nothing_is_gone_on_with(store, put, small, smaller, embedder):
    put(store, "/a", TEXTS[:40])
    interrupt(store, embedder(smaller))
    done = reindex(store, embedder(small))
    assert (done.resumed, done.embedded) == (0, 40)


def test_giving_up_for_good(store, put, small, smaller, embedder):
    put(store, "/a", TEXTS[:40])
    reindex(store, embedder(small))
    interrupt(store, embedder(smaller))
    assert discard(store) > 0
    assert unfinished(store) is None
    assert discard(store) == 0
    check(store, {64: expected(small, TEXTS[:40])})


def test_what_is_added_meanwhile_is_embedded_before_the_change(store, put, small, smaller, embedder):
    put(store, "/a", TEXTS[:10])
    reindex(store, embedder(small))
    more = iter([TEXTS[10:20], TEXTS[20:22], TEXTS[22:24]])

    def add(done):
        """As another process would: with vectors of the model that is bound."""
        if new := next(more, None):
            ids = put(store, new[0], new)
            with store.writing() as db:
                vectors.insert(db, ids, Bound.read(db).fingerprint, embedder(small).embed(new))

    done = reindex(store, embedder(smaller), progress=add)
    assert (done.chunks, done.embedded) == (24, 24)
    check(store, {32: expected(smaller, TEXTS[:24])})


def test_what_is_removed_meanwhile_is_not_embedded(store, put, small, embedder):
    put(store, "/a", TEXTS[:10])
    put(store, "/b", TEXTS[10:20])

    def remove(_):
        with store.writing() as db:
            documents.remove(db, [2])

    done = reindex(store, embedder(small), progress=remove)
    assert done.chunks == 10
    check(store, {64: expected(small, TEXTS[:10])})


def test_two_at_once(store, put, small, embedder):
    put(store, "/a", TEXTS[:10])
    inside, leave = threading.Event(), threading.Event()

    def hold(_):
        inside.set()
        leave.wait(30)

    first = threading.Thread(target=reindex, args=(store, embedder(small), hold))
    first.start()
    inside.wait(30)
    with pytest.raises(BusyError, match="is being reindexed by process"):
        reindex(store, embedder(small))
    with pytest.raises(BusyError):
        discard(store)
    leave.set()
    first.join()
    assert reindex(store, embedder(small)).embedded == 10
    assert {path.name for path in store.path.parent.iterdir()} <= {"kb.db", "kb.db-wal", "kb.db-shm"}


class Killer:
    """Reindexes in processes that are killed."""

    def __init__(self, db, most):
        self._facts = {"db": str(db), "most": most}
        command = [sys.executable, "-m", "tests.library.killed"]
        self._process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.stdin.close()
        self._process.wait(30)

    def run(self, model, **when):
        """True when it came to its end before it was to be killed."""
        print(json.dumps(self._facts | {"model": str(model), **when}), file=self._process.stdin, flush=True)
        status = int(self._process.stdout.readline())
        assert status in (0, -9)
        return status == 0


SWAP = ("DROP TABLE IF EXISTS chunks_vec_old", "ALTER TABLE chunks_vec RENAME", "ALTER TABLE chunks_vec_next RENAME")
SWEEP = ("DELETE FROM chunks_vec_old", "DROP TABLE chunks_vec_old")


def test_killed_at_any_moment_old_or_new_vectors_answer(store, put, small, smaller, embedder):
    for number in range(10):
        put(store, f"/{number}", TEXTS[25 * number : 25 * number + 25] + TEXTS[:5])
    truth = {64: expected(small, TEXTS), 32: expected(smaller, TEXTS)}
    reindex(store, embedder(small))
    chance = random.Random(7)
    other = {64: smaller, 32: small}
    with Killer(store.path, most=8) as killer:
        assert killer.run(smaller)  # and imports what the next ones need
        begun = time.monotonic()
        assert killer.run(small)
        whole = time.monotonic() - begun
        moments = [{"statement": statement} for statement in (*SWAP, *SWEEP)]
        moments += [{"statement": SWAP[-1], "after": count} for count in range(1, 22)]  # to the swap's end and beyond
        moments += [{"number": chance.randint(1, 600)} for _ in range(10)]
        moments += [{"seconds": chance.uniform(0, whole)} for _ in range(100)]
        killed = resumed = 0
        while killed < 45:
            killed += not killer.run(other[bound(store).dims], **moments.pop(0))
            check(store, truth)
            resumed += unfinished(store) is not None
    assert resumed >= 5
    if not (unfinished(store) and unfinished(store).chunks):
        interrupt(store, embedder(other[bound(store).dims]))
    half = unfinished(store)
    done = reindex(store, embedder(other[bound(store).dims]))
    assert done.resumed == half.chunks > 0
    assert done.resumed + done.embedded == 300
    check(store, truth)
