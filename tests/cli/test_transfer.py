"""`bankml export` and `bankml import`, as they are typed."""

import json
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from bankml.settings import Settings
from bankml.store import Store, connection, place
from tests.library.whole import count

pytestmark = pytest.mark.usefixtures("stocked_home")


@pytest.fixture
def exported(here, tmp_path: Path) -> Path:
    """Of a knowledge base with the real model's vectors."""
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "a.md").write_text("# Apples\n\nAn apple a day.\n\n# Pears\n\nA pear a week.\n")
    assert here("add", str(tmp_path / "documents")).status == 0
    assert here("export", str(tmp_path / "kb.jsonl")).status == 0
    return tmp_path / "kb.jsonl"


def test_from_one_machine_to_another(here, command, exported, tmp_path):
    other = str(tmp_path / "other.db")
    done = here("import", str(exported), "--db", other)
    assert (done.status, done.err) == (0, b"")
    assert done.out.startswith(b"1 documents, ")
    assert here("export", "-", "--db", other).out == exported.read_bytes()
    assert here("export", "--db", other).out == exported.read_bytes()
    third = str(tmp_path / "third.db")
    assert command("import", "-", "--db", third, "--json", text=exported.read_bytes()).out.lines[0]["documents"] == 1
    assert here("add", str(tmp_path / "documents"), "--db", other, "--json").out.lines[0]["unchanged"] == 1


def test_an_export_is_for_its_owner_alone(exported):
    assert stat.S_IMODE(exported.stat().st_mode) == 0o600


def test_counts_as_json(here, exported, tmp_path):
    (found,) = here("export", str(tmp_path / "again.jsonl"), "--json").out.lines
    assert found["documents"] == 1
    assert found["vectors"] == found["chunks"] > 0
    (bare,) = here("export", str(tmp_path / "bare.jsonl"), "--no-vectors", "--json").out.lines
    assert bare == {**found, "vectors": 0}


def test_what_cannot_be_imported_is_a_sentence_and_changes_nothing(here, exported, tmp_path):
    torn = tmp_path / "torn.jsonl"
    torn.write_bytes(exported.read_bytes()[:-40])
    for name, said in ((str(torn), b"torn.jsonl, line"), (str(tmp_path), b"is a folder"), ("/nowhere", b"/nowhere")):
        done = here("import", name)
        assert done.status == 1
        assert said in done.err
        assert len(done.err.splitlines()) == 1
    with Store.open(place(None, Settings.read())) as store:
        assert count(store, "documents") == 1


def test_an_export_never_replaces_the_knowledge_base(here, exported, tmp_path):
    """FILE is where the lines go: whoever takes it for the knowledge base keeps that."""
    path = place(None, Settings.read())
    for options in ([], ["--force"]):
        done = here("export", str(path), *options)
        assert (done.status, b"is the knowledge base itself" in done.err) == (1, True)
    assert here("status", "--json").out.lines[0]["documents"] == 1
    notes = tmp_path / "documents" / "a.md"
    assert b"is there and no export" in here("export", str(notes)).err
    assert here("export", str(notes), "--force").status == 0
    assert here("export", str(exported)).status == 0  # in the place of an earlier one
    assert notes.read_bytes() == exported.read_bytes()


def test_what_is_no_export_makes_no_knowledge_base(here, command, exported, tmp_path):
    wrong = exported.read_bytes()[:-40]
    (tmp_path / "torn.jsonl").write_bytes(wrong)
    new = tmp_path / "new" / "kb.db"
    assert here("import", str(tmp_path / "torn.jsonl"), "--db", str(new)).status == 1
    assert command("import", "-", "--db", str(new), text=wrong).status == 1
    assert command("import", "-", "--db", str(new), text=b'{"a": 1}\n').status == 1
    assert not new.parent.exists()


def test_ids_that_are_not_kept_are_told(here, exported, tmp_path):
    text = exported.read_text()
    chunk = json.loads(text.splitlines()[2])["chunk"]["id"]
    (tmp_path / "far.jsonl").write_text(text.replace(f'"chunk":{{"id":{chunk},', f'"chunk":{{"id":{2**50},'))
    done = here("import", str(tmp_path / "far.jsonl"), "--db", str(tmp_path / "far.db"))
    assert (done.status, b"what was imported has new ones" in done.err) == (0, True)


def test_who_sends_slowly_keeps_nobody_waiting(exported, tmp_path, monkeypatch):
    """Two thirds of a megabyte have gone into a pipe that holds a tenth of that: the import is at work, and waits."""
    monkeypatch.setattr(connection, "PATIENCE", 0.5)
    with Store.open(place(None, Settings.read())) as store:
        lines = exported.read_bytes().splitlines(keepends=True)
        document = json.loads(lines[1])["document"]
        many = [
            json.dumps({"document": {**document, "id": 1000 + number, "path": f"/{number}"}}).encode() + b"\n"
            for number in range(2000)
        ]
        end = json.dumps({"end": {"documents": 2000, "chunks": 0}}).encode() + b"\n"
        whole = [sys.executable, "-m", "bankml", "import", "-", "--json"]
        with subprocess.Popen(whole, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdin
            assert process.stdout
            process.stdin.write(lines[0] + b"".join(many))
            process.stdin.flush()
            with store.writing() as db:  # which a transaction that waits for the pipe would not let it
                db.execute("INSERT INTO config VALUES ('test', '')")
            process.stdin.write(end)
            process.stdin.close()
            assert json.loads(process.stdout.read())["documents"] == 2000
        assert process.returncode == 0
        assert count(store, "documents") == 2001
