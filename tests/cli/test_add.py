"""`bankml add` as it is typed: what it prints, its exit status, and several of it at once."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bankml.cli.adding import summary, told
from bankml.library.add.added import Added
from bankml.settings import Settings
from bankml.store import Store, config, place
from tests.library.whole import count, faults, texts

pytestmark = pytest.mark.usefixtures("stocked_home")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "a.md").write_text("# Apples\n\nAn apple a day.\n")
    (folder / "b.txt").write_text("The harbour at night.\n")
    return folder


def store() -> Store:
    return Store.open(place(None, Settings.read()))


def test_the_first_add_makes_the_knowledge_base(here, folder):
    done = here("add", str(folder), "--json")
    assert done.status == 0
    (found,) = done.out.lines
    assert {"added": 2, "updated": 0, "unchanged": 0, "failed": [], "chunks": 2, "embedded": 2}.items() <= found.items()
    assert (found["model"], found["licence"], found["status"]) == (
        "all-MiniLM-L6-v2",
        "Apache-2.0",
        "",
    )  # as status and search call it
    assert b"is made, as by `bankml init`" in done.err
    again = here("add", str(folder), "--json")
    assert (again.out.lines[0]["unchanged"], again.err) == (2, b"")


def test_the_model_is_called_what_the_knowledge_base_calls_it(here, folder):
    assert b"2 embedded with all-MiniLM-L6-v2, " in here("add", str(folder)).out
    assert b"all-MiniLM-L6-v2" in here("status").out


@pytest.mark.parametrize("model", [(), ("--model", "e5-small")])
def test_the_first_add_makes_what_init_makes(here, folder, tmp_path, model):
    made = {command: tmp_path / command / "kb.db" for command in ("init", "add")}
    assert here("init", "--db", str(made["init"]), *model).status == 0
    assert here("add", "--db", str(made["add"]), *model, str(folder)).status == 0
    assert record(made["add"]) == record(made["init"])
    assert {path.stat().st_mode for path in made.values()} == {0o100600}


def record(path: Path) -> list[str | None]:
    with Store.open(path) as store, store.reading() as db:
        return [config.get(db, key) for key in ("model_name", "embedding_dim", "digest", "fingerprint")]


def test_the_first_add_offline_is_an_init_offline_and_a_later_one_embeds(here, folder, monkeypatch, tmp_path):
    path, home = tmp_path / "kb.db", os.environ["BANKML_HOME"]
    with monkeypatch.context() as bare:
        bare.setenv("BANKML_HOME", str(tmp_path / "bare"))
        bare.setenv("BANKML_SKIP_MODEL_DOWNLOAD", "1")
        done = here("add", "--db", str(path), str(folder))
        assert (done.status, b"is made, as by `bankml init`" in done.err) == (0, True)
        assert record(path) == ["all-MiniLM-L6-v2", None, None, None]
        assert here("search", "--db", str(path), "harbour", "--json").out.lines[0]["results"][0]["words_rank"] == 1
    assert os.environ["BANKML_HOME"] == home
    assert here("add", "--db", str(path), str(folder), "--json").out.lines[0]["embedded"] == 2
    assert record(path)[:2] == ["all-MiniLM-L6-v2", "384"]


def test_no_knowledge_base_is_made_of_another_programs_file(here, folder, tmp_path):
    other, gone, empty = tmp_path / "other.db", tmp_path / "gone.db", tmp_path / "empty.db"
    with sqlite3.connect(other) as db:
        db.execute("CREATE TABLE orders (id)")
    before = other.read_bytes()
    (tmp_path / "notes.db").write_text("My notes.")
    gone.symlink_to(tmp_path / "nowhere")
    for path in (other, tmp_path / "notes.db", gone):
        init, add = here("init", "--db", str(path)), here("add", "--db", str(path), str(folder))
        assert (init.status, add.status) == (1, 1)
        assert add.err == init.err
        assert str(path).encode() in add.err
    assert other.read_bytes() == before
    assert (tmp_path / "notes.db").read_text() == "My notes."
    assert not (tmp_path / "nowhere").exists()
    empty.touch()
    assert here("add", "--db", str(empty), str(folder)).status == 0


def test_what_failed_is_named_and_the_status_is_3(here, folder):
    (folder / "c.txt").write_bytes(b"\x89PNG" + bytes(range(256)))
    done = here("add", str(folder), str(folder / "c.txt"), str(folder / "gone.txt"), "--json")
    assert done.status == 3
    (found,) = done.out.lines
    assert found["added"] == 2
    assert [failed["path"] for failed in found["failed"]] == [str(folder / "c.txt"), str(folder / "gone.txt")]
    assert all(failed["error"] for failed in found["failed"])
    done = here("add", str(folder), str(folder / "gone.txt"))
    assert done.status == 3
    assert done.out == b"2 unchanged, 1 failed; passed over: 1 binary\n"
    assert f"{folder}/gone.txt: ".encode() in done.err


def test_standard_input_is_a_document(command, folder):
    done = command("add", "-", str(folder), "--name", "meeting notes", "--json", text=b"We met, and parted.")
    assert done.status == 0
    assert done.out.lines[0]["added"] == 3
    with store() as ours:
        assert texts(ours)[b"meeting notes"] == ["We met, and parted."]


@pytest.mark.parametrize("name", ["", "/etc/passwd", "../a", "a\u202eb", "a\x1bb"])
def test_a_name_that_would_be_a_path_is_refused(here, name):
    done = here("add", "-", "--name", name)
    assert done.status == 1
    assert b"--name" in done.err


def test_another_model_than_the_stores_is_an_error_and_nothing_is_written(here, folder):
    here("add", str(folder))
    (folder / "c.txt").write_text("More.")
    done = here("add", str(folder), "--model", "multilingual-e5-small", "--json")
    assert done.status == 1
    assert "Model mismatch: DB uses 'all-MiniLM-L6-v2' (384 dim)" in done.out.lines[0]["error"]
    assert "bankml reindex --model multilingual-e5-small" in done.out.lines[0]["error"]
    with store() as ours:
        assert count(ours, "documents") == 2


def test_an_alias_is_the_same_model(here, folder):
    here("add", str(folder))
    assert here("add", str(folder), "--model", "sentence-transformers/all-MiniLM-L6-v2").status == 0


def test_without_a_model_words_are_kept_and_it_is_said(here, folder, monkeypatch, tmp_path):
    monkeypatch.setenv("BANKML_HOME", str(tmp_path / "bare"))
    monkeypatch.setenv("BANKML_SKIP_MODEL_DOWNLOAD", "1")
    done = here("add", str(folder), "--json")
    assert done.status == 0
    (found,) = done.out.lines
    assert (found["added"], found["embedded"], found["without_vector"], found["model"]) == (2, 0, 2, None)
    assert found["status"]
    assert b"by words alone" in done.err


def test_prune_removes_what_is_gone(here, folder):
    here("add", str(folder))
    (folder / "a.md").unlink()
    assert here("add", str(folder)).out == b"1 unchanged\n"
    done = here("add", str(folder), "--prune")
    assert done.out == b"1 unchanged, 1 removed\n"
    (folder / "b.txt").unlink()
    done = here("add", str(folder), "--prune", "--json")
    assert done.out.lines[0]["removed"] == 0
    assert b"as if its disk were missing" in done.err


def test_the_database_is_no_document(here, folder):
    done = here("add", str(folder), "--db", str(folder / "kb.db"), "--json")
    done = here("add", str(folder), str(folder / "kb.db"), "--db", str(folder / "kb.db"), "--json")
    assert done.status == 3
    assert done.out.lines[0]["unchanged"] == 2


def test_names_of_any_bytes_are_shown_and_kept(here, folder):
    odd = os.fsencode(folder) + b"/line\nbreak \xff \x1b[31m.txt"
    with open(odd, "wb") as file:
        file.write(b"Odd.")
    gone = os.fsdecode(odd.replace(b"odd", b"gone")).replace("line", "gone")
    done = here("add", str(folder), gone, "--json")
    assert done.status == 3
    json.loads(done.out)
    done = here("add", str(folder), gone)
    assert b"\x1b" not in done.err + done.out
    assert len(done.err.splitlines()) == 1
    with store() as ours:
        assert texts(ours)[odd] == ["Odd."]


def test_nothing_named_is_a_wrong_call(here):
    assert here("add").status == 2


def test_standard_input_cannot_be_watched(here):
    done = here("add", "-", "--watch")
    assert (done.status, b"cannot be watched" in done.err) == (1, True)


def start(*arguments: str, patch: str = "") -> subprocess.Popen[bytes]:
    """`bankml add` after the statements `patch`."""
    whole = [sys.executable, "-c", f"from bankml.cli import main\n{patch}\nmain()", "add", *arguments]
    return subprocess.Popen(whole, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


INTERRUPTED = """
import os, signal
from bankml.library.add.storing import Storing
store = Storing._stored
numbers = iter(range(10**6))

def stored(self, *arguments):
    if next(numbers) == 2:
        os.kill(os.getpid(), {number})
    return store(self, *arguments)

Storing._stored = stored
"""
"""A signal while the third document is being stored, wherever the rest of the work is then."""


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_leaves_what_is_done_and_says_so(folder, number, status):
    words = " ".join(f"word{number}" for number in range(900))
    for each in range(400):
        (folder / f"{each}.txt").write_text(f"Number {each}. {words}")
    with start(str(folder), patch=INTERRUPTED.format(number=int(number))) as process:
        out, err = process.communicate(timeout=60)
    assert process.returncode == status
    assert b"Traceback" not in err
    assert b"interrupted after" in out
    with store() as ours:
        assert 3 <= count(ours, "documents") < 402
        assert faults(ours) == []


def test_several_processes_never_find_it_locked(here, folder):
    for number in range(30):
        (folder / f"{number}.txt").write_text(f"Number {number} is odd or even.")
    here("init")
    running = [start(str(folder), "--json") for _ in range(3)]
    found = []
    for process in running:
        out, err = process.communicate(timeout=120)
        assert (process.returncode, err) == (0, b"")
        found.append(json.loads(out))
    assert sum(one["added"] for one in found) == 32
    assert all(one["failed"] == [] for one in found)
    with store() as ours:
        assert faults(ours) == []
        assert count(ours, "chunks_vec") == count(ours, "chunks") == 32


def test_what_is_shown_meanwhile_and_at_the_end():
    added = Added(added=3, unchanged=1200, embedded=40, tokens=9000, with_vector=42, chunks=45, without_vector=3)
    assert told(added, 5000, 2.0) == "1,203 of 5,000 files, 40 chunks embedded, 4,500 tokens/s"
    added.fail("x", "y")
    assert summary(added, 5000, None).startswith(
        "interrupted after 1,204 of 5,000 files; run it again to go on: 3 added"
    )
    added.finished = True
    assert summary(added, 5000, None) == (
        "3 added, 1,200 unchanged, 1 failed; 45 chunks, 2 vectors were there, 3 found by words alone"
    )


def test_what_changes_is_added_until_ctrl_c(folder, here):
    here("add", str(folder))
    with start(str(folder), "--watch", "--prune", "--json") as process:
        assert process.stdout

        def said(**counts: int) -> dict:
            found = json.loads(process.stdout.readline())
            assert counts.items() <= found.items()
            return found

        said(added=0, unchanged=2)
        (folder / "new.tmp").write_text("A third.")
        (folder / "new.tmp").rename(folder / "c.txt")
        said(added=1)
        (folder / "b.txt").write_text("The harbour in the morning.\n")
        said(updated=1)
        (folder / "b.txt").unlink()
        said(removed=1)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, b"", b"")
    with store() as ours:
        assert {os.path.basename(path) for path in texts(ours)} == {b"a.md", b"c.txt"}
        assert count(ours, "chunks_vec") == count(ours, "chunks")


def test_a_watch_into_a_file_is_told_while_it_works(folder, here, tmp_path):
    here("init")
    log = tmp_path / "log"
    whole = [sys.executable, "-m", "bankml", "add", str(folder), "--watch"]
    with log.open("wb") as out, subprocess.Popen(whole, stdout=out) as process:
        end = time.monotonic() + 60
        while time.monotonic() < end and b"2 added" not in log.read_bytes():
            time.sleep(0.05)
        told = log.read_bytes()
        process.send_signal(signal.SIGTERM)
    assert told.startswith(b"2 added; 2 chunks")


def test_what_was_passed_over_is_told_by_its_reason(here, folder):
    (folder / "link.txt").symlink_to(folder / "a.md")
    for name in ("1.txt", "2.txt"):
        (folder / name).write_bytes(b"\0" * 100)
    os.mkfifo(folder / "pipe.txt")
    assert here("add", str(folder)).out.endswith(b"; passed over: 2 binary, 1 linked, 1 special\n")


def test_what_another_process_stored_meanwhile_is_no_work_of_this_one():
    added = Added(added=7, chunks=149, embedded=278, with_vector=149, tokens=9000, finished=True)
    assert (added.object()["embedded"], added.object()["reused"]) == (149, 0)
    assert "129 more that another process had stored meanwhile" in summary(added, 7, None)


PROGRESS = """
import bankml.cli.adding
import bankml.cli.progress
from bankml.library.add.added import Added
bankml.cli.progress.PATIENCE = 0
with bankml.cli.adding.adding(8, 1000) as progress:
    progress(Added(added=4, embedded=70, tokens=9000, bytes=500))
"""


def test_who_has_waited_is_shown_how_far_it_is():
    from tests.cli.test_progress import on_a_terminal

    shown = on_a_terminal(PROGRESS)
    assert all(part in shown for part in ("adding", "4 of 8 files", "70 chunks embedded", "tokens/s", ":"))


def test_a_converter_that_nobody_knows_is_told(here, folder):
    done = here("add", str(folder), "--converter", "pandoc")
    assert done.status == 1
    assert b"there is no converter 'pandoc': give docling, or none" in done.err
