"""A disk without room: one sentence, and nothing of the record; room for the record alone: it is written."""

import os
import shutil
import subprocess
from contextlib import suppress

import pytest

from bankml.errors import StoreError
from bankml.memory.writing import remember, revise
from bankml.store import Store, records
from bankml.store import store as store_module
from tests.library.whole import count, faults


@pytest.fixture
def disk(tmp_path):
    """A file system of 1 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if os.geteuid() or not shutil.which("mount") or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(path):
    with suppress(OSError), open(path, "wb", buffering=0) as file:
        while file.write(b"x" * 4096):
            pass


def test_a_full_disk_keeps_what_was_written_and_nothing_of_what_was_not(disk, settings, draft, embedder):
    with Store.create(disk / "kb.db") as store:
        first = remember(store, settings, draft(), embedder)
        fill(disk / "filler")
        long = draft(title="long", content="many words of a long record. " * 3000)
        for write in (
            lambda: remember(store, settings, long, embedder),
            lambda: revise(store, settings, first.id, long.content, choose=embedder),
        ):
            with pytest.raises(StoreError, match="no more room on its disk: free some and do it again"):
                write()
        assert faults(store) == []
        assert [count(store, table) for table in ("records", "assertions", "chunks")] == [1, 1, 1]
        with store.reading() as db:
            assert records.find(db, first.id).content == draft().content
        (disk / "filler").unlink()
        assert remember(store, settings, long, embedder).passages > 10


def test_a_disk_with_room_for_the_record_and_none_for_its_vectors(tmp_path, settings, draft, embedder, monkeypatch):
    """The vectors' table may not grow, as where the last pages were the record's."""
    with Store.create(tmp_path / "kb.db") as store:
        remember(store, settings, draft(), embedder)
    connect, limits = store_module.connect, []

    def connected(*arguments):
        db = connect(*arguments)
        limits.append(db)
        return db

    monkeypatch.setattr(store_module, "connect", connected)
    wanted = draft(title="long", content="\n\n".join(f"Paragraph {n} of many words. " * 12 for n in range(150)))

    class Filling:
        """Fills the disk when it is to embed."""

        def __getattr__(self, name):
            return getattr(embedder(), name)

        def embed(self, texts, **more):
            for db in limits:
                (pages,) = db.execute("PRAGMA page_count").fetchone()
                db.execute(f"PRAGMA max_page_count = {pages}")
            return embedder().embed(texts, **more)

    with Store.open(tmp_path / "kb.db") as store:
        done = remember(store, settings, wanted, Filling)
        assert done.passages > 100
        assert done.embedded < done.passages
        assert "no more room on its disk" in done.why
        assert faults(store) == []
        with store.reading() as db:
            assert records.find(db, done.id)
