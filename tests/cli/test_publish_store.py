"""`bankml publish --store` and `bankml query --dsn`, with a real PostgreSQL."""

import json
import os

import pytest

from bankml.embedders import choose
from bankml.store import Store
from tests.memory.remembered import record, remember
from tests.postgres import rows

FACTS = (
    ("Tokens expire", "A token lives for an hour."),
    ("Bread needs flour", "Flour, water, salt and patience."),
    ("The team's database", "It is PostgreSQL with pgvector."),
    ("Vectors are kept", "By the sha256 of their text."),
)


@pytest.fixture
def db(tmp_path, stocked_home):
    """A store of the real model."""
    path = tmp_path / "team.db"
    with Store.create(path) as store:
        embedder = choose(name="all-minilm")
        remember(store, embedder, *(record(number, *fact) for number, fact in enumerate(FACTS)))
        remember(store, embedder, record(9, "Hidden", "What nobody else may read.", tags=("private",)))
        embedder.close()
    return path


def test_a_store_is_published_checked_and_asked(here, dsn, db):
    arguments = ("publish", "--store", "--db", str(db), "--dsn", dsn)
    would = here(*arguments, "--dry-run", "--json").out.lines[0]
    assert (would["dry_run"], would["records"], would["left_out"]) == (True, 4, {"records": 1, "documents": 0})
    assert rows(dsn, "SELECT to_regclass('bankml_stores')") == [(None,)]
    done = here(*arguments, "--check", "--json")
    assert (done.status, len(done.out.lines)) == (0, 1)
    found = done.out.lines[0]
    assert (found["name"], found["records"], found["passages"], found["embedded"]) == ("team", 4, 4, 4)
    assert found["model"] == "all-MiniLM-L6-v2"
    assert len(found["digest"]) == 64
    assert (found["overlap"]["records"]["n"], found["overlap"]["records"]["mean"]) == (10, 1.0)
    asked = here("query", "--dsn", dsn, "--json", "how long does a session last?")
    assert (asked.status, asked.err) == (0, b"")
    (answer,) = asked.out.lines
    best = answer["results"][0]
    assert (best["title"], best["repository"], best["affectedPaths"]) == ("Tokens expire", "team", [])
    assert isinstance(best["score"], float)
    assert "BM25 (PostgreSQL) + all-MiniLM-L6-v2 (meaning, 4 of 4 passages embedded)" in answer["status"]
    assert "Hidden" not in json.dumps(answer)
    shown = here(*arguments, "--private", "--check", "--name", "all").out.decode()
    for line in (
        "store: all (with what is private)",
        "records: 5",
        "overlap of records: 1.000 of 10 answers the same over",
    ):
        assert line in shown
    assert "Hidden" in here("query", "--dsn", dsn, "--store", "all", "hidden").out.decode()


def test_documents_are_searched_there(here, dsn, db, tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "moon.md").write_text("# Moon\n\nThe moon orbits the earth in a month.\n")
    (tmp_path / "notes" / "private.md").write_text("Nobody else may read this of the moon.\n")
    assert here("add", "--db", str(db), str(tmp_path / "notes")).status == 0
    done = here("publish", "--store", "--db", str(db), "--dsn", dsn, "--check", "--json").out.lines[0]
    assert (done["left_out"]["documents"], done["overlap"]["documents"]["mean"]) == (1, 1.0)
    found = here("search", "--dsn", dsn, "--json", "what orbits the earth?").out.lines[0]
    assert [(hit["title"], hit["store"]) for hit in found["results"]] == [("Moon", "team")]
    assert "moon.md" in here("search", "--dsn", dsn, "--store", "team", "moon").out.decode()
    assert here("search", "--dsn", dsn, "--type", "markdown", "moon").status == 2
    assert here("search", "--store", "team", "moon").status == 2


def test_what_is_wrong_is_one_sentence(here, dsn, db, monkeypatch):
    for arguments, said in (
        (("query", "--dsn", dsn, "x"), "no store is published there"),
        (("query", "--dsn", "host=/nonesuch dbname=x password=hunter2", "x"), "nothing listens there"),
        (("publish", "--store", "--db", f"{db}x", "--dsn", dsn), "there is no knowledge base at"),
        (("publish", "--store", "--db", str(db), "--dsn", dsn, "--name", ""), "is none: give"),
    ):
        done = here(*arguments)
        assert done.status == 1
        assert said in done.err.decode()
        assert done.err.count(b"\n") == 1
        assert b"hunter2" not in done.err
        assert said in here(*arguments, "--json").out.lines[0]["error"]
    assert here("query", "--store", "team", "x").status == 2
    assert here("publish").status == 2


def test_status_shows_stores(here, dsn, db):
    here("publish", "--store", "--db", str(db), "--dsn", dsn)
    found = here("publish", "status", "--dsn", dsn, "--json").out.lines[0]
    (store,) = found["stores"]
    assert (store["name"], store["records"], store["passages"], store["embedded"]) == ("team", 4, 4, 4)
    assert (store["private_included"], store["documents_included"]) == (False, True)
    plain = here("publish", "status", "--dsn", dsn).out.decode()
    assert "team" in plain
    assert "all-MiniLM-L6-v2" in plain


def test_a_file_whose_name_is_no_utf8(here, dsn, db):
    path = os.fsdecode(os.fsencode(db.parent) + b"/caf\xe9.db")
    os.rename(db, path)
    done = here("publish", "--store", "--db", path, "--dsn", dsn)
    assert (done.status, b"Traceback" in done.err) == (0, False)
    assert "store: caf\ufffd (without" in done.out.decode()
    assert "name it with --name" in done.err.decode()
