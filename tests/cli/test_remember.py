"""`bankml remember`, `decide` and `feedback` as they are typed."""

import pytest

from bankml.settings import Settings
from bankml.store import Bound, Store, config, place, records


def store() -> Store:
    return Store.open(place(None, Settings.read()))


def record(record_id: str):
    with store() as kb, kb.reading() as db:
        return records.find(db, record_id)


@pytest.fixture
def within(tmp_path, monkeypatch):
    """A repository to be in."""
    folder = tmp_path / "repository"
    (folder / "src").mkdir(parents=True)
    (folder / ".git").mkdir()
    for name in ("a.py", "b.py", "c,d.py"):
        (folder / "src" / name).write_text(name)
    monkeypatch.chdir(folder / "src")
    return folder


def test_the_first_write_makes_the_store_and_embeds_with_the_model_that_is_here(here, stocked_home):
    done = here("remember", "Sessions expire", "A token lives for an hour.", "--json")
    assert (done.status, done.err) == (0, b"")
    (found,) = done.out.lines
    assert {"existing": False, "passages": 1, "embedded": 1, "clipped": 0, "status": ""}.items() <= found.items()
    assert record(found["id"]).content == "A token lives for an hour."
    with store() as kb, kb.reading() as db:
        assert Bound.read(db).model_name == "all-MiniLM-L6-v2"
    again = here("remember", "Sessions expire", "A token lives for an hour.")
    assert again.out == f"{found['id']} is there already\n".encode()


def test_without_a_model_nothing_is_downloaded_and_the_name_is_promised(here, hub):
    done = here("remember", "Sessions expire", "A token lives for an hour.")
    assert done.status == 0
    assert done.out.startswith(b"rec_")
    assert b"found by words alone until it is embedded: " in done.err
    assert hub.requests == []
    with store() as kb, kb.reading() as db:
        assert (config.get(db, "model_name"), Bound.read(db)) == ("all-MiniLM-L6-v2", None)
        assert db.execute("SELECT count(*) FROM chunks_fts WHERE chunks_fts MATCH 'token'").fetchone() == (1,)
