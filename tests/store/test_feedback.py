"""What was said of records is kept, in the order it was recorded in."""

from dataclasses import replace

from bankml.store import Feedback, Store, feedback, records
from bankml.store.record import passage
from tests.store.schemas import RECORD


def test_feedback_is_kept(tmp_path):
    with Store.create(tmp_path / "kb.db") as store, store.writing() as db:
        records.put(db, RECORD, [passage(RECORD.content, RECORD.title, 0, 5)], "1")
        later, earlier = Feedback("wrong", "no\ud800", 9), Feedback("helpful", "", 8, {"agent": "x"})
        for each in later, earlier, later:
            feedback.put(db, RECORD.id, each)
        kept = feedback.of(db, RECORD.id)
        assert feedback.of(db, "rec_0") == []
    assert kept == [earlier, *[replace(later, note="no\ufffd")] * 2]
