"""Stores that may be read and not written, or not even that; other programs' files; places that are none."""

import os
import shutil
import sqlite3
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

from bankml.errors import StoreError
from bankml.library.upkeep import doctor
from bankml.library.upkeep.status import status
from bankml.settings import Settings
from bankml.store import DocumentRow, Passage, Store, config, documents

NOBODY = 65534


@contextmanager
def as_nobody():
    """Root may write what is read-only; so it is nobody for a while."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


@pytest.fixture
def folder():
    """One that nobody may look into."""
    path = Path(tempfile.mkdtemp())
    path.chmod(0o755)
    yield path
    path.chmod(0o755)
    shutil.rmtree(path)


def make(path):
    with Store.create(path) as store, store.writing() as db:
        row = DocumentRow(b"notes", "text", "T", "0" * 64, 1, 0, "1")
        documents.replace(db, row, [Passage("some text", "", 0, 9, 1, None, 4)])
    path.chmod(0o644)
    return path


def check_read_only(path):
    """It answers, and says in one sentence that it may not be written; nothing comes beside it."""
    before = sorted(path.parent.iterdir())
    with Store.open(path) as store:
        assert store.read_only
        with store.reading() as db:
            assert db.execute("SELECT text FROM chunks").fetchall() == [("some text",)]
            assert db.execute("SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH 'text'").fetchall() == [(1,)]
        assert status(store, Settings.read()).chunks == 1
        with (
            pytest.raises(StoreError, match="cannot be written: it, its folder or its disk is read-only"),
            store.writing(),
        ):
            pass
    found = {one.check: one for one in doctor.examine(path, Settings.read())}
    assert found["words"].ok
    assert sorted(path.parent.iterdir()) == before


def test_a_file_that_is_read_only(folder):
    path = make(folder / "kb.db")
    path.chmod(0o444)
    folder.chmod(0o555)
    with as_nobody():
        check_read_only(path)


def test_a_file_of_another_in_a_folder_of_ones_own(folder):
    path = make(folder / "kb.db")
    folder.chmod(0o777)
    with as_nobody(), Store.open(path) as store:
        assert store.read_only
        with store.reading() as db:
            assert db.execute("SELECT count(*) FROM chunks").fetchone() == (1,)


def test_a_folder_that_is_read_only(folder):
    path = make(folder / "kb.db")
    path.chmod(0o666)
    folder.chmod(0o555)
    with as_nobody():
        check_read_only(path)


def test_a_disk_that_is_read_only(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)]
    if os.geteuid() or not shutil.which("mount") or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        path = make(disk / "kb.db")
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        check_read_only(path)
        with pytest.raises(StoreError, match="cannot be made"):
            Store.create(disk / "other.db")
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


def test_a_file_that_may_not_be_read(folder):
    path = make(folder / "kb.db")
    path.chmod(0o600)
    with as_nobody(), pytest.raises(StoreError, match=r"kb\.db (is not yours|cannot be opened)"):
        Store.open(path)


def test_a_folder_that_is_not_there_or_is_a_file(tmp_path):
    (tmp_path / "file").write_text("text")
    for path in (tmp_path / "none" / "kb.db", tmp_path / "file" / "kb.db"):
        with pytest.raises(StoreError, match="no knowledge base at"):
            Store.open(path)
    with pytest.raises(StoreError, match="cannot be made"):
        Store.create(tmp_path / "file" / "kb.db")


def test_a_link_to_nothing_and_one_to_itself(tmp_path):
    (tmp_path / "nothing.db").symlink_to(tmp_path / "none.db")
    (tmp_path / "itself.db").symlink_to(tmp_path / "itself.db")
    for name in ("nothing.db", "itself.db"):
        with pytest.raises(StoreError):
            Store.open(tmp_path / name)


def test_another_programs_database_stays_as_it_is(tmp_path):
    """A GeoPackage, as maps come in: its application_id, its tables, some of the names of ours."""
    path = tmp_path / "map.gpkg"
    db = sqlite3.connect(path)
    db.execute("PRAGMA application_id = 0x47504B47")
    db.execute("CREATE TABLE gpkg_contents (table_name TEXT PRIMARY KEY, data_type TEXT)")
    db.execute("CREATE TABLE documents (id INTEGER PRIMARY KEY, geom BLOB)")
    db.execute("CREATE VIRTUAL TABLE names USING fts5 (name)")
    db.execute("INSERT INTO documents (geom) VALUES (x'4750')")
    db.commit()
    db.close()
    before = path.read_bytes()
    for use in (Store.open, Store.create, lambda path: doctor.repair(path, Settings.read())):
        with pytest.raises(StoreError, match="database of another program: nothing was changed in it"):
            use(path)
    (found,) = doctor.examine(path, Settings.read())
    assert "another program" in found.examples[0]
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["map.gpkg"]


def test_a_newer_schema_stays_as_it_is(tmp_path):
    path = make(tmp_path / "kb.db")
    db = sqlite3.connect(path)
    db.execute("INSERT INTO migrations VALUES (99, 'of the future', 0)")
    db.execute("ALTER TABLE documents ADD COLUMN mood TEXT")
    db.commit()
    db.close()
    before = path.read_bytes()
    for use in (Store.open, Store.create, lambda path: doctor.repair(path, Settings.read())):
        with pytest.raises(StoreError, match=r"written by a newer bankml \(schema 99"):
            use(path)
    assert path.read_bytes() == before


def test_a_name_with_everything_in_it(tmp_path):
    name = os.fsdecode(b"a ?#%41\n\xff'\"; DROP.db")
    with Store.create(tmp_path / name) as store, store.writing() as db:
        config.put(db, "a", "1")
    with Store.open(tmp_path / name) as store, store.reading() as db:
        assert config.get(db, "a") == "1"
    assert {each.name for each in tmp_path.iterdir()} == {name}
