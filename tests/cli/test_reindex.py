"""`bankml reindex`: each scenario, and what else a user meets."""

import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from bankml import Encoder, load
from bankml.store import Bound, DocumentRow, Passage, Store, config, documents, successor

TEXTS = [f"text {number} of a few" for number in range(8)]


def put(path, texts):
    with Store.create(path) as store, store.writing() as db:
        row = DocumentRow(b"notes.md", "markdown", "Notes", "0" * 64, 1, 0, "1")
        documents.replace(db, row, [Passage(text, "", 0, len(text), 1, None, 9) for text in texts])


@pytest.fixture
def kb(tmp_path, stocked_home, here):
    """Eight chunks, embedded with the default model."""
    path = tmp_path / "kb" / "kb.db"
    assert here("init", "--db", str(path)).status == 0
    put(path, TEXTS)
    assert here("reindex", "--db", str(path)).status == 0
    return path


def bound(path):
    with Store.open(path) as store, store.reading() as db:
        return Bound.read(db)


def vectors(path):
    with Store.open(path) as store, store.reading() as db:
        rows = db.execute("SELECT text, vector FROM chunks JOIN chunks_vec ON chunk_id = id").fetchall()
    return {text: np.frombuffer(vector, "<f4") for text, vector in rows}


def test_reindex_with_same_model(here, kb, minilm):
    """WHEN user runs kb reindex THEN all chunks are re-embedded with the current model and vectors are replaced."""
    with Store.open(kb) as store, store.writing() as db:  # as a conversion that went wrong would have left them
        db.execute("UPDATE chunks_vec SET vector = zeroblob (1536)")
    done = here("reindex", "--db", str(kb), "--json")
    (found,) = done.out.lines
    assert (done.status, found["embedded"], found["chunks"]) == (0, 8, 8)
    assert (found["model"], found["dims"]) == ("all-MiniLM-L6-v2", 384)
    assert found["before"] == {"model": "all-MiniLM-L6-v2", "dims": 384}
    with Encoder(minilm) as encoder:
        assert np.array_equal([vectors(kb)[text] for text in TEXTS], encoder.encode(TEXTS))


def test_reindex_with_new_model(command, here, kb, model_hub, monkeypatch):
    """`--model bge-small-en-v1.5`: downloaded, converted, every chunk embedded, vectors, name and dims replaced."""
    done = command("reindex", "--db", str(kb), "--model", "bge-small-en-v1.5")
    assert done.status == 0
    assert "Optimising model bge-small-en-v1.5 for bankml's engine (one-time)…".encode() in done.err
    assert b"8 of 8 chunks embedded with bge-small-en-v1.5 (384 dimensions)" in done.out
    assert (bound(kb).model_name, bound(kb).dims) == ("bge-small-en-v1.5", 384)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")  # nobody listens there: it is had
    with load("bge-small-en-v1.5") as encoder:
        assert bound(kb).digest == encoder.digest
        assert np.array_equal([vectors(kb)[text] for text in TEXTS], encoder.encode(TEXTS))
    assert here("doctor", "--db", str(kb)).status == 0


def test_a_model_with_prefixes(here, kb, e5):
    done = here("reindex", "--db", str(kb), "--model", "multilingual-e5-small")
    assert (done.status, bound(kb).model_name) == (0, "multilingual-e5-small")
    with Encoder(e5) as encoder:
        assert np.array_equal([vectors(kb)[text] for text in TEXTS], encoder.encode([f"passage: {t}" for t in TEXTS]))


def test_a_model_that_the_engine_does_not_run_changes_nothing(here, kb, model_hub):
    before = vectors(kb)
    done = here("reindex", "--db", str(kb), "--model", "nomic-embed-text", "--json")
    assert (done.status, "nomic_bert" in done.out.lines[0]["error"]) == (1, True)
    assert bound(kb).model_name == "all-MiniLM-L6-v2"
    assert all(np.array_equal(before[text], vector) for text, vector in vectors(kb).items())


def test_a_model_of_another_width(here, kb, small_model):
    done = here("reindex", "--db", str(kb), "--model", str(small_model))
    assert done.status == 0
    assert {vector.shape for vector in vectors(kb).values()} == {(64,)}
    with Store.open(kb) as store, store.reading() as db:
        assert config.get(db, "embedding_dim") == "64"
    assert here("doctor", "--db", str(kb)).status == 0


def test_the_store_has_its_own_model_and_a_setting_that_names_another_is_told(here, kb):
    kb.with_name("config.yaml").write_text("model: multilingual-e5-small\n")
    done = here("reindex", "--db", str(kb), "--json")
    assert (done.status, done.out.lines[0]["model"]) == (0, "all-MiniLM-L6-v2")
    assert b"config.yaml names multilingual-e5-small still" in done.err
    done = here("reindex", "--db", str(kb), "--model", "multilingual-e5-small")
    assert (done.status, done.err) == (0, b"")


def test_a_model_that_nobody_knows(here, kb):
    before = vectors(kb)
    done = here("reindex", "--db", str(kb), "--model", "no-such-model", "--json")
    assert done.status == 1
    assert "no-such-model" in done.out.lines[0]["error"]
    assert bound(kb).model_name == "all-MiniLM-L6-v2"
    assert all(np.array_equal(before[text], vector) for text, vector in vectors(kb).items())


def test_some_chunks_have_no_vector(here, kb, overflowing, tmp_path):
    put(kb, [*TEXTS, "boom"])
    model = overflowing(tmp_path / "overflowing.gguf", "boom")
    done = here("reindex", "--db", str(kb), "--model", str(model), "--json")
    (found,) = done.out.lines
    assert (done.status, found["without_vector"], found["embedded"]) == (3, 1, 8)
    assert (found["without"][0]["path"], found["without"][0]["seq"]) == ("notes.md", 8)


def test_texts_that_were_cut_are_told(here, kb, small_model):
    put(kb, [*TEXTS, "word " * 600])
    done = here("reindex", "--db", str(kb), "--model", str(small_model))
    assert b"1 chunks are longer than the model reads" in done.err


@pytest.fixture
def small_model(tmp_path):
    from oracle import seeded

    return seeded.tiny(tmp_path / "small.gguf")


def wait_for(holds):
    for _ in range(3000):
        if holds():
            return
        time.sleep(0.01)
    raise AssertionError("it never came")


def made(path):
    """How many new vectors there are beside the old."""
    with Store.open(path) as store, store.reading() as db:
        found = successor.unfinished(db)
    return found.chunks if found else 0


HELD = """
import sys, time
from bankml.cli import main
from bankml.store import successor
texts = successor.texts
def held(db, keys):
    if successor.unfinished(db).chunks:
        time.sleep(60)
    return texts(db, keys)
successor.texts = held
sys.exit(main())
"""


def test_interrupted_reindex(kb, here):
    """The old vectors stay until all new ones are there; the same command goes on where it was.

    It is held up behind its first batch: under load it may be done before anybody interrupts it.
    """
    put(kb, [*TEXTS, *(f"{number} many words of one text" for number in range(52))])
    old = vectors(kb)
    command = [sys.executable, "-c", HELD, "reindex", "--db", str(kb), "--model", "multilingual-e5-small"]
    with subprocess.Popen([*command, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        wait_for(lambda: made(kb))
        busy = here("reindex", "--db", str(kb), "--json")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, b"")
    assert b"chunks are embedded and kept, the old vectors answer" in err
    assert b"Traceback" not in err
    assert (busy.status, "is being reindexed" in busy.out.lines[0]["error"]) == (1, True)
    assert bound(kb).model_name == "all-MiniLM-L6-v2"
    now = vectors(kb)
    assert all(np.array_equal(old[text], now[text]) for text in old)
    kept = made(kb)
    assert 0 < kept < 60
    done = here("reindex", "--db", str(kb), "--model", "multilingual-e5-small", "--json")
    (found,) = done.out.lines
    assert (found["resumed"], found["embedded"]) == (kept, 60 - kept)
    assert bound(kb).model_name == "multilingual-e5-small"


def test_a_models_path_that_no_store_can_name(command, kb, small_model, tmp_path):
    odd = os.fsencode(tmp_path) + b"/\xff.gguf"
    shutil.copy(small_model, odd)
    done = command("reindex", "--db", str(kb), "--model", odd)
    assert done.status == 1
    assert b"is not UTF-8, so no store can name it: rename it" in done.err
    assert len(done.err.splitlines()) == 1
    assert bound(kb).model_name == "all-MiniLM-L6-v2"


def test_giving_up_an_interrupted_one(here, kb):
    with Store.open(kb) as store, store.writing() as db:
        successor.begin(db, Bound("other", 3, "d" * 64, "f" * 16))
    assert here("status", "--db", str(kb), "--json").out.lines[0]["reindexing"]["model"] == "other"
    assert here("reindex", "--db", str(kb), "--discard", "--json").out.lines == [{"discarded": 0}]
    assert here("status", "--db", str(kb), "--json").out.lines[0]["reindexing"] is None


def test_there_is_none(here, tmp_path):
    done = here("reindex", "--db", str(tmp_path / "none.db"), "--json")
    assert (done.status, "run `bankml init`" in done.out.lines[0]["error"]) == (1, True)


PROGRESS = """
import bankml.cli.progress
import bankml.cli.reindex as cli
bankml.cli.progress.PATIENCE = 0
from bankml.library.upkeep.reindexed import Reindexed
done = Reindexed(None, None, chunks=8)
with cli._shown() as show:
    done.embedded, done.tokens = 4, 1000
    show(done)
"""


def test_who_has_waited_is_shown_how_far_it_is():
    from tests.cli.test_progress import on_a_terminal

    shown = on_a_terminal(PROGRESS)
    assert all(part in shown for part in ("embedding", "4/8", "chunks", "tokens/s"))
