"""`bankml export` and `bankml import`, as they are typed."""

import stat
from pathlib import Path

import pytest

from bankml.settings import Settings
from bankml.store import Store, place
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
