"""Records and their assertions: nothing that was asserted is overwritten."""

from dataclasses import replace

import pytest

from bankml.store import Assertion, Cited, Record, Store, assertions, records
from bankml.store.record import encoded, new_id, passage

ID = "rec_0123456789abcdef"
RECORD = Record(
    id=ID,
    title="Sessions expire",
    content="A token lives for an hour.",
    created_at=1_700_000_000_000_000,
    updated_at=1_700_000_000_000_000,
    reasoning="shorter annoys",
    category="decision",
    tags=("auth", "Größe"),
    confidence=0.75,
    namespace="session",
    session="s1",
    root=b"/home/\xff",
    cited=(Cited(b"src/Auth.py", "ab" * 32, 7, 9), Cited(b"caf\xe9")),
    provenance={"agent": "test", "by": "\x1b[31m"},
)


@pytest.fixture
def store(tmp_path):
    with Store.create(tmp_path / "kb.db") as store:
        yield store


def put(db, record, *texts):
    return records.put(db, record, [passage(text, record.title, 0, 5) for text in texts or [record.content]], "1")


def test_what_is_put_is_found(store):
    with store.writing() as db:
        put(db, RECORD)
    with store.reading() as db:
        assert records.find(db, ID) == RECORD
        assert records.several(db, ["rec_0", ID, ID]) == [RECORD, RECORD]
        assert records.find(db, "rec_0") is None
        assert records.exist(db)
        assert records.count(db) == 1
        assert records.count(db, "archived") == 0
        assert len(records.chunk_ids(db, ID)) == 1


def test_a_record_that_is_put_again_keeps_passages_that_are_the_same(store):
    with store.writing() as db:
        put(db, RECORD, "one", "two")
        before = records.chunk_ids(db, ID)
        put(db, replace(RECORD, content="other", cited=()), "zero", "two")
        after = records.chunk_ids(db, ID)
        found = records.find(db, ID)
    assert after[1] == before[1]
    assert after[0] not in before
    assert found.content == "other"
    assert found.cited == ()


def test_texts_that_no_utf8_can_hold_are_kept_as_well_as_they_can(store):
    with store.writing() as db:
        put(db, replace(RECORD, title="half \ud800", provenance={"a": "\udcff"}))
        assert records.find(db, ID).title == "half \ufffd"
        assert records.find(db, ID).provenance == {"a": "\ufffd"}


def test_marks_are_said_from_then_on(store):
    with store.writing() as db:
        put(db, RECORD)
        put(db, replace(RECORD, id="rec_1"))
        records.mark(db, ID, RECORD.updated_at + 1, status="superseded", superseded_by="rec_1")
        records.mark(db, ID, 5, freshness="stale")
        found = records.find(db, ID)
    assert (found.status, found.freshness, found.superseded_by) == ("superseded", "stale", "rec_1")
    assert found.updated_at == RECORD.updated_at + 1


def test_a_record_goes_with_all_that_is_its_own(store):
    with store.writing() as db:
        put(db, RECORD)
        assertions.put(db, ID, Assertion("first", 0.5, 100, None, 100))
        db.execute("DELETE FROM documents WHERE path = ?", (records.document_path(ID),))
        assert records.find(db, ID) is None
        for table in ("assertions", "cited", "chunks", "chunks_fts"):
            assert db.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)


def test_ids_are_new_and_names_are_compared_as_people_do():
    assert records.is_id(new_id())
    assert len(new_id()) == 20
    assert new_id() != new_id()
    assert records.file_name(b"src/STRASSE.py") == records.file_name("straße.py".encode())
    assert encoded({"b": 1, "a": ("x",)}) == '{"a":["x"],"b":1}'
