"""All that a record ever said."""

import pytest

from bankml.errors import InputError
from bankml.memory.recall.compact import PREVIEW
from bankml.memory.timeline import timeline
from bankml.store import Feedback, Store, assertions, feedback
from tests.memory.written import DAY, record_id, said, write


def test_everything_in_the_order_it_was_recorded_in(store: Store) -> None:
    write(store, 1, "Token life", [said("an hour", 10 * DAY, confidence=0.5, provenance={"agent": "a"})])
    with store.writing() as db:
        assertions.put(db, record_id(1), said("a week, it was", 2 * DAY, 3 * DAY, 30 * DAY))
        assertions.put(db, record_id(1), said("a day", 20 * DAY))
        feedback.put(db, record_id(1), Feedback("stale", "see the new policy", 40 * DAY, {"agent": "b"}))
    write(store, 2, "Older", superseded_by=record_id(1), status="superseded")
    found = timeline(store, record_id(1)).object()
    assert found == {
        "id": record_id(1),
        "title": "Token life",
        "status": "active",
        "assertions": [
            {
                "content": "an hour",
                "valid_from": "1970-01-11T00:00:00.000000Z",
                "valid_to": "1970-01-21T00:00:00.000000Z",
                "recorded_at": "1970-01-11T00:00:00.000000Z",
                "confidence": 0.5,
                "provenance": {"agent": "a"},
            },
            {
                "content": "a day",
                "valid_from": "1970-01-21T00:00:00.000000Z",
                "valid_to": None,
                "recorded_at": "1970-01-21T00:00:00.000000Z",
                "confidence": 1.0,
            },
            {
                "content": "a week, it was",
                "valid_from": "1970-01-03T00:00:00.000000Z",
                "valid_to": "1970-01-04T00:00:00.000000Z",
                "recorded_at": "1970-01-31T00:00:00.000000Z",
                "confidence": 1.0,
            },
        ],
        "supersedes": [record_id(2)],
        "superseded_by": None,
        "feedback": [
            {
                "verdict": "stale",
                "note": "see the new policy",
                "recorded_at": "1970-02-10T00:00:00.000000Z",
                "provenance": {"agent": "b"},
            }
        ],
    }
    assert timeline(store, record_id(2)).object()["superseded_by"] == record_id(1)


def test_contents_are_previews_unless_they_are_wanted_whole(store: Store) -> None:
    write(store, 1, "t" * 300, [said("x" * PREVIEW, DAY), said("y" * (PREVIEW + 1), 2 * DAY)])
    found = timeline(store, "rec_").object()
    first, second = found["assertions"]
    assert ("truncated" in first, second["truncated"], len(second["content"])) == (False, True, PREVIEW)
    assert len(found["title"]) == 200
    (_, second) = timeline(store, "rec_").object(full=True)["assertions"]
    assert ("truncated" in second, len(second["content"])) == (False, PREVIEW + 1)


def test_the_beginning_of_an_id_is_enough(store: Store) -> None:
    for number in (0x10, 0x11, 0x2F, 0x2F0):
        write(store, number, "Token")
    whole = record_id(0x2F)
    assert timeline(store, whole).record.id == whole
    assert timeline(store, whole.removeprefix("rec_")).record.id == whole
    assert timeline(store, f" {whole[:-1]} ").record.id == whole
    with store.writing() as db:
        db.execute("UPDATE records SET id = 'rec_short' WHERE id = ?", (record_id(0x10),))
        db.execute("UPDATE records SET id = 'rec_shorter' WHERE id = ?", (record_id(0x11),))
    assert timeline(store, "rec_short").record.id == "rec_short"  # itself, though another one begins with it


@pytest.mark.parametrize(
    ("beginning", "sentence"),
    [
        ("rec_000", r"several records .* 'rec_000' \(rec_0000000000000000, .*, …\): give more of it"),
        ("rec_f", "no record whose id begins with 'rec_f'"),
        ("Rec_0", "no record whose id begins with 'Rec_0'"),
        ("", "the id is empty"),
        (" ", "the id is empty"),
        ("%", "no record"),
        ("rec_\x00", "no record"),
        ("\ud800", "no record"),
        ("f" * 100_000, "no record"),
    ],
)
def test_an_id_that_is_none_or_not_enough(store: Store, beginning: str, sentence: str) -> None:
    for number in range(5):
        write(store, number, "Token")
    with pytest.raises(InputError, match=sentence) as raised:
        timeline(store, beginning)
    assert len(str(raised.value)) < 500
