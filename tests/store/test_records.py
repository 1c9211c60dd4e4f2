"""Records and their assertions: nothing that was asserted is overwritten."""

import sqlite3
from dataclasses import replace

import pytest

from bankml.errors import StoreError
from bankml.store import Assertion, Cited, Feedback, Record, Store, records
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
        (chunk,) = records.chunk_ids(db, ID)
        assert records.of_chunks(db, [chunk, 99]) == {chunk: ID}


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


def test_assertions_follow_each_other(store):
    with store.writing() as db:
        put(db, RECORD)
        records.asserted(db, ID, Assertion("first", 0.5, 100, None, 100, {"n": 1}))
        records.asserted(db, ID, Assertion("second", 0.6, 200, None, 200))
        records.asserted(db, ID, Assertion("earlier than all", 0.7, 50, None, 300))
        found = records.assertions(db, ID)
        assert [(each.content, each.valid_from, each.valid_to) for each in found] == [
            ("first", 100, 200),
            ("second", 200, None),
            ("earlier than all", 50, None),
        ]
        records.ended(db, ID, 150)
        assert [each.valid_to for each in records.assertions(db, ID)] == [200, 200, 150]


def test_an_assertion_is_never_overwritten(store):
    with store.writing() as db:
        put(db, RECORD)
        records.asserted(db, ID, Assertion("first", 0.5, 100, 200, 100))
    for change in ("content = 'x'", "confidence = 1", "valid_from = 0", "valid_to = 300", "recorded_at = 0"):
        with pytest.raises((sqlite3.IntegrityError, StoreError)), store.writing() as db:
            db.execute(f"UPDATE assertions SET {change}")
    with store.reading() as db:
        assert records.assertions(db, ID)[0].content == "first"


def test_feedback_is_kept(store):
    with store.writing() as db:
        put(db, RECORD)
        for feedback in (later := Feedback("wrong", "no\ud800", 9)), Feedback("helpful", "", 8, {"agent": "x"}):
            records.said(db, ID, feedback)
        found = records.feedback(db, ID)
    assert found == [Feedback("helpful", "", 8, {"agent": "x"}), replace(later, note="no\ufffd")]


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
        records.asserted(db, ID, Assertion("first", 0.5, 100, None, 100))
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
