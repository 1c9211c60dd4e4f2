"""One file, many readers and writers, and what is said of files that are no store."""

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from bankml.errors import BusyError, StoreError
from bankml.store import Store, config, connection
from bankml.store.migrations import recognise
from bankml.store.schema import APPLICATION_ID, VERSION
from tests.store.test_access import as_nobody


@pytest.fixture
def store(tmp_path):
    with Store.create(tmp_path / "folder" / "kb.db") as store:
        yield store


def test_a_new_store_is_its_owners_alone_and_knows_itself(store):
    assert stat.S_IMODE(os.stat(store.path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(store.path.parent).st_mode) & 0o077 == 0
    with store.reading() as db:
        assert len(config.store_id(db)) == 32
        assert config.get(db, "schema_version") == str(VERSION)
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert db.execute("PRAGMA foreign_keys").fetchone() == (1,)
    journal = store.path.with_name("kb.db-wal")
    assert stat.S_IMODE(os.stat(journal).st_mode) == 0o600


def test_making_one_where_there_is_one_leaves_it_as_it_is(store):
    with store.reading() as db:
        before = config.store_id(db)
    with Store.create(store.path) as again, again.reading() as db:
        assert config.store_id(db) == before


def test_many_may_make_it_at_once(tmp_path):
    path = tmp_path / "kb.db"
    make = "import sys, pathlib; from bankml.store import Store; Store.create(pathlib.Path(sys.argv[1]))"
    makers = [subprocess.Popen([sys.executable, "-c", make, path], stderr=subprocess.PIPE) for _ in range(4)]
    assert [maker.communicate()[1] for maker in makers] == [b""] * 4
    with Store.open(path) as store, store.reading() as db:
        assert db.execute("SELECT count(*) FROM migrations").fetchone() == (VERSION,)


def test_what_is_written_raises_the_generation_and_what_fails_is_undone(store):
    with store.writing() as db:
        config.put(db, "a", "1")
    with pytest.raises(ZeroDivisionError), store.writing() as db:
        config.put(db, "a", str(1 / (config.put(db, "a", "2") or 0)))
    with store.writing() as db:  # nothing is written
        pass
    with store.reading() as db:
        assert (config.get(db, "a"), config.generation(db)) == ("1", 1)


def test_a_reader_sees_one_state_while_another_writes(store):
    with store.reading() as old:
        with store.writing() as db:
            config.put(db, "a", "1")
            with store.reading() as other:
                assert config.get(other, "a") is None
        assert (config.get(old, "a"), config.generation(old)) == (None, 0)
    with store.reading() as new:
        assert config.get(new, "a") == "1"


def test_threads_that_write_take_turns(store):
    def add():
        for _ in range(20):
            with store.writing() as db:
                config.put(db, "n", str(int(config.get(db, "n") or 0) + 1))

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with store.reading() as db:
        assert (config.get(db, "n"), config.generation(db)) == ("80", 80)


def test_a_writer_that_does_not_end_is_told_of(store, monkeypatch):
    monkeypatch.setattr(connection, "PATIENCE", 0.05)
    with (
        Store.open(store.path) as other,
        store.writing(),
        pytest.raises(BusyError, match="another process"),
        other.writing(),
    ):
        pass


def test_there_is_none(tmp_path):
    with pytest.raises(StoreError, match=r"no knowledge base at .*kb\.db: run `bankml init`"):
        Store.open(tmp_path / "kb.db")


def test_an_empty_file_is_none_yet(tmp_path):
    (tmp_path / "kb.db").touch()
    with pytest.raises(StoreError, match="is empty: run `bankml init`"):
        Store.open(tmp_path / "kb.db")
    Store.create(tmp_path / "kb.db").close()
    Store.open(tmp_path / "kb.db").close()


@pytest.mark.parametrize("application", [0, 42])
def test_another_programs_database_is_left_alone(tmp_path, application):
    path = tmp_path / "theirs.db"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE config (key, value)")
        db.execute(f"PRAGMA application_id = {application}")
    before = path.read_bytes()
    for use in (Store.open, Store.create):
        with pytest.raises(StoreError, match="another program"):
            use(path)
    assert path.read_bytes() == before


def test_a_newer_schema_asks_for_a_newer_bankml(store):
    with store.writing() as db:
        db.execute("INSERT INTO migrations VALUES (?, 'of the future', 0)", (VERSION + 1,))
    with pytest.raises(StoreError, match=rf"newer bankml \(schema {VERSION + 1}.*pip install"):
        Store.open(store.path)


def test_what_is_no_database_is_told(tmp_path):
    path = tmp_path / "kb.db"
    path.write_text("my notes " * 1000)
    for use in (Store.open, Store.create):
        with pytest.raises(StoreError, match="not a SQLite database"):
            use(path)
    assert path.read_text() == "my notes " * 1000


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_what_is_no_file_is_told(tmp_path, make):
    make(tmp_path / "kb.db")
    for use in (Store.open, Store.create):
        with pytest.raises(StoreError, match="name a file with --db"):
            use(tmp_path / "kb.db")


def test_a_migration_that_fails_leaves_the_version_before(tmp_path, monkeypatch):
    from bankml.store import migrations

    path = tmp_path / "kb.db"
    Store.create(path).close()
    broken = (*migrations.MIGRATIONS, ("breaks", ("CREATE TABLE new (a)", "INSERT INTO nowhere VALUES (1)")))
    monkeypatch.setattr(migrations, "MIGRATIONS", broken)
    monkeypatch.setattr(migrations, "VERSION", VERSION + 1)
    with pytest.raises(StoreError):
        Store.open(path)
    monkeypatch.undo()
    with Store.open(path) as store, store.reading() as db:
        assert not db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'new'").fetchall()
        assert db.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)


def test_text_that_is_no_utf8_is_damage(store):
    with store.writing() as db:
        db.execute("INSERT INTO config VALUES ('a', CAST (x'ff' AS TEXT))")
    with pytest.raises(StoreError, match="damaged"), store.reading() as db:
        config.get(db, "a")


@pytest.mark.parametrize("value", ["many", "-1", "1.5", "\u0661", "1" * 5000])
def test_a_number_that_is_none_is_damage(store, value):
    with store.writing() as db:
        config.put(db, "epoch", value)
    with pytest.raises(StoreError, match="epoch is"), store.reading() as db:
        config.epoch(db)


def test_a_closed_store_says_so(store):
    store.close()
    with pytest.raises(StoreError, match="was closed"), store.reading():
        pass


@pytest.mark.parametrize("how", ["a link", "a relative path", "two slashes"])
def test_however_it_is_named_it_is_the_file_itself(store, tmp_path, monkeypatch, how):
    """What lies beside it (its journal, what was derived, locks, settings) is looked for in one place."""
    link = tmp_path / "link.db"
    link.symlink_to(store.path)
    monkeypatch.chdir(tmp_path)
    named = {"a link": link, "a relative path": Path("folder/kb.db"), "two slashes": Path(f"/{store.path}")}[how]
    for use in (Store.open, Store.create):
        with use(named) as same:
            monkeypatch.chdir("/")
            assert same.path == store.path
            with same.writing() as db:
                config.put(db, "a", "1")
            monkeypatch.chdir(tmp_path)


def test_a_journal_is_looked_for_beside_the_file(store):
    """A file that is read through a link is not empty because its journal is elsewhere."""
    with store.writing() as db:
        config.put(db, "a", "1")
    with tempfile.TemporaryDirectory() as name:
        folder, link = Path(name) / "folder", Path(name) / "link.db"
        folder.mkdir()
        link.symlink_to(folder / "kb.db")
        for each in ("kb.db", "kb.db-wal"):
            shutil.copy(store.path.with_name(each), folder)
            (folder / each).chmod(0o444)
        Path(name).chmod(0o777)
        folder.chmod(0o555)
        with as_nobody(), pytest.raises(StoreError, match=r"kb\.db cannot be (opened|written)"):
            Store.open(link)


def test_what_a_forked_process_stores_is_kept(store):
    with store.writing() as db:
        config.put(db, "parent", "1")
    ready, go = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.read(ready, 1)
            with store.writing() as db:
                config.put(db, "child", "1")
            os._exit(0)
        finally:
            os._exit(1)
    store.close()
    os.write(go, b"x")
    assert os.waitpid(child, 0)[1] == 0
    with Store.open(store.path) as again, again.reading() as db:
        assert (config.get(db, "parent"), config.get(db, "child")) == ("1", "1")


def test_a_parent_goes_on_after_a_fork_and_its_transaction_is_not_its_childs(store):
    with store.writing() as db:
        config.put(db, "a", "1")
        child = os.fork()
        if not child:
            try:
                with store.reading():
                    pass
            except StoreError as error:
                os._exit(0 if "by `spawn`" in str(error) else 1)
            finally:
                os._exit(2)
        assert os.waitpid(child, 0)[1] == 0
    with store.reading() as db:
        assert config.get(db, "a") == "1"


def test_two_threads_may_fork_at_once(store):
    def fork():
        child = os.fork()
        if not child:
            os._exit(0)
        os.waitpid(child, 0)

    threads = [threading.Thread(target=fork, daemon=True) for _ in range(2)]
    with store._pool._lock:
        for thread in threads:
            thread.start()
        time.sleep(0.1)  # both wait for it
    for thread in threads:
        thread.join(30)
    assert store._pool._lock.acquire(timeout=30)
    store._pool._lock.release()


def test_one_that_is_being_made_is_no_other_programs(tmp_path, monkeypatch):
    """Between two looks at an empty file another process makes it a knowledge base."""
    monkeypatch.setattr(connection, "PATIENCE", 0.05)
    path = tmp_path / "kb.db"
    path.touch()
    db = connection.connect(path, read_only=False)
    made = []

    def make(statement):
        if "sqlite_schema" in statement and not made:
            made.append(statement)
            with suppress(BusyError):
                Store.create(path).close()

    db.set_trace_callback(make)
    assert recognise(db, path) == 0
    assert made
    db.close()


def test_a_copy_that_goes_on_otherwise_is_in_another_state(store):
    """Though it has changed as often."""
    store.close()
    copy = store.path.read_bytes()
    states = []
    for _ in range(2):
        store.path.write_bytes(copy)
        with Store.open(store.path) as again:
            with again.writing() as db:
                config.put(db, "a", "1")
            with again.reading() as db:
                states.append((config.generation(db), config.state(db)))
    assert states[0][0] == states[1][0]
    assert states[0][1] != states[1][1]
