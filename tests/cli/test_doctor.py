"""`bankml doctor`."""

import pytest

from bankml.library.upkeep.reindex import reindex
from bankml.store import DocumentRow, Passage, Store, documents


@pytest.fixture
def kb(tmp_path, minilm, monkeypatch):
    """A document of two chunks, all found."""
    from bankml.embedders import choose

    monkeypatch.setenv("BANKML_EMBED_MODEL", str(minilm))
    with Store.create(tmp_path / "kb.db") as store:
        with store.writing() as db:
            row = DocumentRow(b"notes", "markdown", "A", "0" * 64, 1, 0, "1")
            documents.replace(db, row, [Passage(text, "", 0, 3, 1, None, 3) for text in ("one", "two")])
        reindex(store, choose())
    return tmp_path / "kb.db"


def test_a_sound_one(here, kb):
    done = here("doctor", "--db", str(kb), "--json")
    (found,) = done.out.lines
    assert (done.status, found["ok"], found["repaired"]) == (0, True, [])
    assert {check["check"] for check in found["checks"]} >= {"pages", "words", "vectors", "coverage", "files", "model"}


def test_what_is_wrong_and_what_to_run(here, kb):
    with Store.open(kb) as store, store.writing() as db:
        db.execute("DELETE FROM chunks_fts WHERE rowid = 1")
    done = here("doctor", "--db", str(kb))
    assert done.status == 1
    assert b"WRONG: words do not find what they should (1): chunk 1. Run `bankml doctor --repair`" in done.out
    done = here("doctor", "--db", str(kb), "--repair")
    assert (done.status, b"words were taken anew" in done.err) == (0, True)


def test_there_is_none(here, tmp_path):
    done = here("doctor", "--db", str(tmp_path / "none.db"), "--json")
    assert (done.status, done.out.lines[0]["ok"]) == (1, False)
    done = here("doctor", "--db", str(tmp_path / "none.db"))
    assert done.out.count(b"bankml init") == 1
    assert done.out.rstrip().endswith(b"run `bankml init` to make one, or name another with --db")
    done = here("doctor", "--db", str(tmp_path / "none.db"), "--repair", "--json")
    assert (done.status, "no knowledge base" in done.out.lines[0]["error"]) == (1, True)


def test_a_damaged_one_is_told_once_with_what_to_do(here, kb):
    with open(kb, "r+b") as file:
        file.seek(100)
        file.write(b"\xff" * 3000)
    status, doctor = here("status", "--db", str(kb)), here("doctor", "--db", str(kb))
    assert (status.status, doctor.status) == (1, 1)
    for told in (status.err, doctor.out):
        assert told.count(b"copy it as it is") == told.count(b"put a sound copy in its place") == 1
        assert b"bankml export" in told
        assert b"doctor` says where" not in told
    assert b"Run copy" not in doctor.out
