"""After a setting was changed it is known whether vectors are to be made anew; those of records are with the others."""

from pathlib import Path

import pytest

from bankml.errors import CancelledError
from bankml.library.model import binding
from bankml.library.model.configure import change
from bankml.library.upkeep.reindex import reindex
from bankml.library.upkeep.stale import stale
from bankml.settings import Settings
from bankml.store import Record, Store, records
from bankml.store.record import new_id, passage

TEXTS = [f"text {number} of a few" for number in range(6)]
MODEL, ENABLED = "search.vector.model", "search.vector.enabled"


@pytest.fixture
def kb(store: Store, put, small: Path, embedder) -> Store:
    """Six chunks of a document and four of two records, all with vectors."""
    put(store, "/a.md", TEXTS)
    for at in range(2):
        record = Record(new_id(), f"Title {at}", f"content {at}", created_at=at, updated_at=at)
        with store.writing() as db:
            records.put(
                db,
                record,
                [passage(f"{record.content} {part}", record.title, at, 5) for at, part in enumerate("ab")],
                "1",
            )
    reindex(store, embedder(small))
    return store


def recipes(store: Store) -> list[tuple[str, str, int]]:
    """How many vectors there are of documents and of records, by recipe."""
    with store.reading() as db:
        return db.execute(
            """SELECT documents.type, fingerprint, count(*) FROM chunks_vec JOIN chunks ON chunks.id = chunk_id
            JOIN documents ON documents.id = document_id GROUP BY 1, 2 ORDER BY 1"""
        ).fetchall()


def test_whether_vectors_are_wanted_anew(kb: Store, settings: Settings, small: Path, smaller: Path) -> None:
    assert stale(kb.path, settings) == ""
    change(kb.path, {"query_prefix": "find: "})
    assert stale(kb.path, settings) == "10 vectors are of another recipe and are not searched any more"
    change(kb.path, {"query_prefix": None, MODEL: str(small)})
    assert stale(kb.path, settings) == ""
    change(kb.path, {MODEL: str(smaller)})
    assert f"the vectors are of {small}, and {smaller} is asked for now ({MODEL})" in stale(kb.path, settings)
    change(kb.path, {ENABLED: False})
    assert stale(kb.path, settings) == ""
    assert stale(kb.path.with_name("none.db"), settings) == ""


def test_an_interrupted_rebuild_leaves_the_old_vectors_of_records_too(
    kb: Store, settings: Settings, smaller: Path, embedder
) -> None:
    before = recipes(kb)
    assert [(kind, count) for kind, _, count in before] == [("record", 4), ("text", 6)]
    change(kb.path, {MODEL: str(smaller)})
    asked = iter([False] * 5)
    with pytest.raises(CancelledError):
        reindex(kb, binding.unchecked(kb, settings), cancelled=lambda: next(asked, True), most=2)
    assert recipes(kb) == before
    assert reindex(kb, binding.unchecked(kb, settings)).resumed > 0
    after = recipes(kb)
    assert [(kind, count) for kind, _, count in after] == [("record", 4), ("text", 6)]
    assert {recipe for _, recipe, _ in after}.isdisjoint({recipe for _, recipe, _ in before})
    assert len({recipe for _, recipe, _ in after}) == 1
    assert stale(kb.path, settings) == ""
