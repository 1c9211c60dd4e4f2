"""`bankml status`."""

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
            row = DocumentRow(b"/a.md", "markdown", "A", "0" * 64, 1, 0, "1")
            documents.replace(db, row, [Passage(text, "", 0, 3, 1, None, 3) for text in ("one", "two")])
        reindex(store, choose())
    return tmp_path / "kb.db"


def test_json(here, kb, minilm):
    done = here("status", "--db", str(kb), "--json")
    (found,) = done.out.lines
    assert done.status == 0
    assert set(found) >= {"db", "model", "dims", "digest", "documents", "chunks", "embedded", "items"}
    assert (found["model"], found["dims"], found["documents"], found["chunks"]) == (str(minilm), 384, 1, 2)
    assert (found["embedded"], found["items"], found["reindexing"]) == (2, 1, None)


def test_for_people(here, kb):
    done = here("status", "--db", str(kb))
    assert b"2 of 2 chunks" in done.out
    assert b"1 (1 markdown)" in done.out
    assert b"nothing: every chunk is found" in done.out


def test_a_majority_without_vectors_is_a_failure(here, kb):
    with Store.open(kb) as store, store.writing() as db:
        db.execute("DELETE FROM chunks_vec")
    done = here("status", "--db", str(kb), "--json")
    assert (done.status, done.out.lines[0]["missing"]) == (1, 2)
    done = here("status", "--db", str(kb))
    assert done.status == 1
    assert b"0 of 2 chunks, 2 without a vector" in done.out


def test_there_is_none(here, tmp_path):
    done = here("status", "--db", str(tmp_path / "none.db"), "--json")
    assert done.status == 1
    assert "run `bankml init`" in done.out.lines[0]["error"]
