"""A disk without room: told before anything is embedded where that can be seen, else in one sentence, nothing lost."""

import os
import shutil
import subprocess
from contextlib import suppress

import numpy as np
import pytest

from bankml import Encoder
from bankml.errors import StoreError
from bankml.library.upkeep import room
from bankml.library.upkeep.reindex import discard, reindex
from bankml.store import Bound, Store, store, successor

TEXTS = [f"the {number}th of many short texts" for number in range(400)]


@pytest.fixture
def disk(tmp_path):
    """A file system of 2 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)]
    if os.geteuid() or not shutil.which("mount") or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.fixture
def kb(put, small, embedder):
    """Makes one in a folder, embedded by the small model."""
    made = []

    def make(folder):
        kb = Store.create(folder / "kb.db")
        made.append(kb)
        put(kb, "/a", TEXTS)
        reindex(kb, embedder(small))
        return kb

    yield make
    for one in made:
        one.close()


def fill(path):
    """Leaves no room on the disk of a file."""
    with suppress(OSError), open(path, "wb", buffering=0) as file:
        while file.write(b"x" * 4096):
            pass


def check(store, model):
    with Encoder(model) as encoder:
        truth = dict(zip(TEXTS, encoder.encode(TEXTS), strict=True))
    with store.reading() as db:
        rows = db.execute("SELECT text, vector FROM chunks JOIN chunks_vec ON chunk_id = id").fetchall()
        assert Bound.read(db).model_name == str(model)
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert len(rows) == len(TEXTS)
    assert all(np.array_equal(np.frombuffer(vector, "<f4"), truth[text]) for text, vector in rows)


def made(store):
    with store.reading() as db:
        return successor.unfinished(db)


def test_a_disk_that_fills_up(disk, kb, small, smaller, embedder):
    kb = kb(disk)

    def filling(done):
        if done.done > 60:
            fill(disk / "filler")

    with pytest.raises(StoreError, match=r"no more room on its disk: \d+ of 400 chunks are embedded anew and kept"):
        reindex(kb, embedder(smaller), filling, most=32)
    kept = made(kb).chunks
    assert 60 < kept < 400
    check(kb, small)
    (disk / "filler").unlink()
    done = reindex(kb, embedder(smaller))
    assert (done.resumed, done.embedded) == (kept, 400 - kept)
    check(kb, smaller)


def test_what_was_made_is_given_up_and_its_room_is_the_stores(disk, kb, small, smaller, embedder):
    kb = kb(disk)
    with pytest.raises(StoreError, match="--discard"):
        reindex(kb, embedder(smaller), lambda done: fill(disk / "filler") if done.done > 60 else None, most=32)
    with pytest.raises(StoreError, match="free some and do it again"):
        discard(kb)
    with (disk / "filler").open("r+b") as file:
        file.truncate(file.seek(0, os.SEEK_END) - (64 << 10))
    assert discard(kb) > 0
    check(kb, small)
    with kb.reading() as db:
        assert db.execute("PRAGMA freelist_count").fetchone() > (2,)


def test_room_is_looked_for_before_anything_is_embedded(disk, kb, small, smaller, embedder):
    kb = kb(disk)
    fill(disk / "filler")
    with (disk / "filler").open("r+b") as file:
        file.truncate((disk / "filler").stat().st_size - room.need(400, 32) // 2)
    with pytest.raises(StoreError, match="more for the new vectors, and its disk has"):
        reindex(kb, embedder(smaller), lambda done: pytest.fail("it was begun"))
    assert made(kb) is None
    check(kb, small)


def test_a_file_that_may_not_grow(tmp_path, kb, small, smaller, embedder, monkeypatch):
    """As a full disk, where none can be mounted."""
    kb(tmp_path).close()
    connect = store.connect

    def connected(*arguments):
        db = connect(*arguments)
        (pages,) = db.execute("PRAGMA page_count").fetchone()
        db.execute(f"PRAGMA max_page_count = {pages + 8}")
        return db

    monkeypatch.setattr(store, "connect", connected)
    with Store.open(tmp_path / "kb.db") as full:
        with pytest.raises(StoreError, match="no more room on its disk"):
            reindex(full, embedder(smaller), most=32)
        check(full, small)
        kept = made(full).chunks
    monkeypatch.undo()
    with Store.open(tmp_path / "kb.db") as free:
        assert reindex(free, embedder(smaller)).resumed == kept
        check(free, smaller)
