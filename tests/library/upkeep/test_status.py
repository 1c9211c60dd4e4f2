"""What there is, what is lacking, and what to run."""

import pytest

from bankml.library.upkeep.reindex import reindex
from bankml.library.upkeep.status import status
from bankml.store import Store
from tests.memory.remembered import record, remember

TEXTS = [f"text {number} of a few" for number in range(10)]


@pytest.fixture
def kb(store, put, small, embedder, monkeypatch):
    """Two documents, ten chunks, all with vectors."""
    monkeypatch.setenv("BANKML_EMBED_MODEL", str(small))
    put(store, "/a.md", TEXTS[:4], type="markdown")
    put(store, "/b.txt", TEXTS[4:])
    reindex(store, embedder(small))
    return store


@pytest.fixture
def look(monkeypatch):
    from bankml.settings import Settings

    return lambda store: status(store, Settings.read())


def test_all_is_well(kb, look, small):
    found = look(kb)
    assert (found.model, found.dims, found.model_present, found.why) == (str(small), 64, True, "")
    assert (found.documents, found.items, found.chunks, found.embedded) == (2, 2, 10, 10)
    assert (found.missing, found.foreign, found.orphans) == (0, 0, 0)
    assert found.types == {"markdown": 1, "text": 1}
    assert (found.coverage, found.sound) == (1.0, True)
    assert found.size > 0
    assert found.next.startswith("nothing")
    assert found.object()["db"] == str(kb.path)


def test_an_empty_one_is_sound(store, look, small, embedder, monkeypatch):
    monkeypatch.setenv("BANKML_EMBED_MODEL", str(small))
    assert look(store).model is None
    reindex(store, embedder(small))
    found = look(store)
    assert (found.coverage, found.sound) == (None, True)
    assert "bankml add PATH" in found.next


@pytest.mark.parametrize(("lost", "sound"), [(5, True), (6, False)])
def test_a_majority_without_vectors_is_not_sound(kb, look, lost, sound):
    with kb.writing() as db:
        db.execute("DELETE FROM chunks_vec WHERE chunk_id <= ?", (lost,))
    found = look(kb)
    assert (found.embedded, found.missing, found.sound) == (10 - lost, lost, sound)
    assert "bankml reindex" in found.next


def test_vectors_of_another_recipe_do_not_count(kb, look):
    with kb.writing() as db:
        db.execute("UPDATE chunks_vec SET fingerprint = 'f' WHERE chunk_id <= 7")
    found = look(kb)
    assert (found.embedded, found.foreign, found.missing, found.sound) == (3, 7, 0, False)
    assert "7 vectors are of another recipe" in found.next


def test_what_is_searched_is_of_the_recipe_of_now(kb, look):
    """Prefixes that changed since make other vectors of the same model."""
    kb.path.with_name("config.yaml").write_text("document_prefix: 'passage: '\n")
    found = look(kb)
    assert (found.embedded, found.foreign, found.why) == (0, 10, "")


def test_orphans(kb, look):
    with kb.writing() as db:
        db.execute("INSERT INTO chunks_vec SELECT 1, 'a', vector FROM chunks_vec WHERE 0")
    import sqlite3

    db = sqlite3.connect(kb.path)
    with db:
        db.execute("DELETE FROM chunks WHERE id = 1")
        db.execute("DELETE FROM documents WHERE id = 2")
    db.close()
    found = look(kb)
    assert (found.chunks, found.embedded, found.orphans) == (9, 9, 1 + 6)
    assert "bankml doctor" in found.next


def test_another_model_is_wanted(kb, look, smaller, monkeypatch):
    monkeypatch.setenv("BANKML_EMBED_MODEL", str(smaller))
    found = look(kb)
    assert (found.embedded, found.model_present) == (10, False)
    assert found.next.startswith("Model mismatch: DB uses")


def test_the_model_is_not_here(kb, look, small, monkeypatch, tmp_path):
    away = small.rename(tmp_path / "away.gguf")
    try:
        found = look(kb)
        assert (found.embedded, found.chunks, found.model_present) == (10, 10, False)
        assert str(small) in found.next
    finally:
        away.rename(small)


def test_a_reindex_that_is_at_work_and_one_that_was_interrupted(kb, look, smaller, embedder):
    seen = []

    def show(done):
        if done.embedded and not seen:
            seen.append(look(kb))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reindex(kb, embedder(smaller), show)
    at_work, after = seen[0], look(kb)
    assert (at_work.reindexing.running, after.reindexing.running) == (True, False)
    assert (after.reindexing.model, after.reindexing.dims, after.reindexing.chunks) == (str(smaller), 32, 1)
    assert at_work.next.startswith("wait: 1 of 10")
    assert "goes on where it was interrupted, at 1 of 10" in after.next
    assert after.embedded == 10


def test_no_model_is_loaded(kb, look, monkeypatch):
    from bankml import encoder

    monkeypatch.setattr(encoder, "Engine", None)
    assert look(kb).embedded == 10


def test_one_that_may_not_be_written(kb, look):
    kb.close()
    with Store.open(kb.path, read_only=True) as readable:
        assert look(readable).embedded == 10


def test_meaning_that_is_switched_off_is_no_fault(kb, look):
    kb.path.with_name("config.yaml").write_text("search: {vector: {enabled: false}}")
    with kb.writing() as db:
        db.execute("DELETE FROM chunks_vec WHERE chunk_id % 4")
    found = look(kb)
    assert (found.sound, found.model_present) == (True, True)
    assert found.coverage < 0.5
    assert "search.vector.enabled is false in" in found.disabled
    assert found.next.startswith("nothing: words alone are searched, as wanted")
    kb.path.with_name("config.yaml").unlink()
    assert (look(kb).sound, look(kb).disabled) == (False, "")


def test_records_are_items_and_no_documents(kb, look):
    before = look(kb)
    remember(
        kb,
        None,
        record(1, "One", "A fact."),
        record(2, "Two", "Once.", status="superseded"),
        record(3, "Three", "A fact."),
    )
    found = look(kb)
    assert (found.documents, found.items, found.types) == (before.documents, before.items + 3, before.types)
    assert found.records == {"active": 2, "superseded": 1}
    assert (found.chunks, found.missing) == (before.chunks + 3, 3)
    assert "reindex" in found.next
