"""What records said: nothing that was asserted is overwritten."""

import sqlite3

import pytest

from bankml.errors import StoreError
from bankml.store import Assertion, Store, assertions, records
from bankml.store.record import passage
from tests.store.schemas import RECORD

ID = RECORD.id


@pytest.fixture
def store(tmp_path):
    with Store.create(tmp_path / "kb.db") as store:
        yield store


def put(db, record):
    return records.put(db, record, [passage(record.content, record.title, 0, 5)], "1")


def test_assertions_follow_each_other(store):
    with store.writing() as db:
        put(db, RECORD)
        assertions.put(db, ID, Assertion("first", 0.5, 100, None, 100, {"n": 1}))
        assertions.put(db, ID, Assertion("second", 0.6, 200, None, 200))
        assertions.put(db, ID, Assertion("earlier than all", 0.7, 50, None, 300))
        found = assertions.of(db, ID)
        assert [(each.content, each.valid_from, each.valid_to) for each in found] == [
            ("first", 100, 200),
            ("second", 200, None),
            ("earlier than all", 50, None),
        ]
        assertions.ended(db, ID, 150)
        assert [each.valid_to for each in assertions.of(db, ID)] == [200, 200, 150]


def test_an_assertion_is_never_overwritten(store):
    with store.writing() as db:
        put(db, RECORD)
        assertions.put(db, ID, Assertion("first", 0.5, 100, 200, 100))
    for change in ("content = 'x'", "confidence = 1", "valid_from = 0", "valid_to = 300", "recorded_at = 0"):
        with pytest.raises((sqlite3.IntegrityError, StoreError)), store.writing() as db:
            db.execute(f"UPDATE assertions SET {change}")
    with store.reading() as db:
        assert assertions.of(db, ID)[0].content == "first"
