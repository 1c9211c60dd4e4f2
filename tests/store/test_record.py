"""What a row holds as JSON is read again, or told."""

import pytest

from bankml.errors import StoreError
from bankml.store import Assertion, Feedback, Store, assertions, feedback, records
from bankml.store.record import passage
from tests.store.schemas import RECORD

ID = RECORD.id


@pytest.fixture
def store(tmp_path):
    with Store.create(tmp_path / "kb.db") as store:
        yield store


@pytest.mark.parametrize("damage", ["{", "", "null", "7", "[" * 100_000, "\x00"])
def test_a_damaged_row_is_a_sentence_with_the_record_and_what_to_run(store, damage):
    with store.writing() as db:
        records.put(db, RECORD, [passage(RECORD.content, RECORD.title, 0, 5)], "1")
        assertions.put(db, ID, Assertion("first", 0.5, 100, None, 100))
        feedback.put(db, ID, Feedback("wrong", "", 9))
        db.execute("DROP TRIGGER assertions_kept")
    looks = {
        ("records", "tags"): records.find,
        ("records", "provenance"): records.find,
        ("assertions", "provenance"): assertions.of,
        ("feedback", "provenance"): feedback.of,
    }
    for (table, column), look in looks.items():
        with store.writing() as db:
            (whole,) = db.execute(f"SELECT {column} FROM {table}").fetchone()
            db.execute(f"UPDATE {table} SET {column} = ?", (damage,))
        sentence = f"the {column} of {ID} cannot be read, its row is damaged: `bankml doctor`"
        with pytest.raises(StoreError, match=sentence), store.reading() as db:
            look(db, ID)
        with store.writing() as db:
            db.execute(f"UPDATE {table} SET {column} = ?", (whole,))
