"""Files that are damaged: whatever is asked of them, the answer is right or one sentence, and nothing is written."""

import random
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bankml.errors import Error
from bankml.library.upkeep import doctor
from bankml.library.upkeep.status import status
from bankml.settings import Settings
from bankml.store import Bound, DocumentRow, Passage, Store, documents, vectors

BOUND = Bound("/no/such.gguf", 32, "ab" * 32, "a" * 16)
PAGE = 4096


def passages(number):
    texts = [f"passage {number} {n} " + "of some words " * 20 for n in range(10)]
    return [Passage(text, "Heading", 0, len(text), 1, None, 60) for text in texts]


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """The bytes of a store of ten documents and a hundred chunks."""
    path = tmp_path_factory.mktemp("sound") / "kb.db"
    random = np.random.default_rng(1)
    with Store.create(path) as store, store.writing() as db:
        vectors.create(db, BOUND.dims)
        BOUND.write(db)
        for number in range(10):
            row = DocumentRow(b"%d" % number, "text", "T", "0" * 64, 1, 0, "1")
            ids = [chunk_id for chunk_id, _ in documents.replace(db, row, passages(number)).added]
            rows = random.standard_normal((len(ids), BOUND.dims), np.float32)
            vectors.insert(db, ids, BOUND.fingerprint, rows / np.linalg.norm(rows, axis=1, keepdims=True))
    return path.read_bytes()


def asked(path):
    """How many of three questions are answered, and what `doctor` finds wrong. Only bankml's own errors are raised."""
    answered = 0
    for ask in (_read, _looked_at, _written):
        with suppress(Error):
            ask(path)
            answered += 1
    found = doctor.examine(path, Settings.read())
    assert found
    return answered, {one.check for one in found if not one.ok}


def _read(path):
    with Store.open(path) as store, store.reading() as db:
        for table in ("documents", "chunks", "chunks_vec"):
            db.execute(f"SELECT * FROM {table}").fetchall()
        db.execute("SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH 'words'").fetchall()


def _looked_at(path):
    with Store.open(path, read_only=True) as store:
        status(store, Settings.read())


def _written(path):
    with Store.open(path) as store, store.writing() as db:
        documents.replace(db, DocumentRow(b"1", "text", "T", "1" * 64, 1, 0, "1"), passages(99))
        raise Error("enough")


UNUSED = {"model"}  # no test of this file has one


def test_a_sound_one_is_sound(sound, tmp_path):
    path = tmp_path / "kb.db"
    path.write_bytes(sound)
    assert asked(path) == (2, UNUSED)


@pytest.mark.parametrize("cut", [1, 15, 16, 99, 100, 512, 4095, 4096, 4097, 0.1, 0.3, 0.5, 0.7, 0.9, -4096, -1])
def test_a_file_that_was_cut_off(sound, tmp_path, cut):
    path = tmp_path / "kb.db"
    length = int(cut * len(sound)) if isinstance(cut, float) else cut % len(sound)
    path.write_bytes(sound[:length])
    _, wrong = asked(path)
    assert wrong > UNUSED or "file" in wrong
    assert path.read_bytes() == sound[:length]


def test_zeros_in_the_middle(sound, tmp_path):
    """A page after the other, as a disk that forgot one gives it back."""
    path = tmp_path / "kb.db"
    for page in range(0, len(sound), PAGE):
        path.write_bytes(sound[:page] + bytes(PAGE) + sound[page + PAGE :])
        _, wrong = asked(path)
        assert wrong > UNUSED or "file" in wrong, page // PAGE + 1


@settings(max_examples=40)
@given(st.integers(0, 2**32))
def test_bytes_that_are_others(sound, tmp_path_factory, seed):
    chance = random.Random(seed)
    content = bytearray(sound)
    for _ in range(chance.choice((1, 8, 64))):
        content[chance.randrange(len(content))] = chance.randrange(256)
    path = tmp_path_factory.mktemp("bytes") / "kb.db"
    path.write_bytes(content)
    asked(path)
    assert path.read_bytes() == bytes(content)


def test_a_journal_that_is_none(sound, tmp_path):
    path = tmp_path / "kb.db"
    path.write_bytes(sound)
    path.with_name("kb.db-wal").write_bytes(random.Random(1).randbytes(100_000))
    assert asked(path) == (2, UNUSED)
