"""`bankml feedback` as it is typed."""

from bankml.settings import Settings
from bankml.store import Store, feedback, place


def test_feedback_is_kept_and_said(here):
    first = here("remember", "Sessions expire", "In an hour.", "--json").out.lines[0]["id"]
    done = here("feedback", first, "wrong", "--note", "it is two", "--agent", "me", "--json")
    assert done.out.lines == [
        {"id": first, "verdict": "wrong", "status": "active", "freshness": "stale", "confidence": 0.5}
    ]
    assert here("feedback", first, "archive").out == f"{first} is archived, stale, of confidence 0.5\n".encode()
    with Store.open(place(None, Settings.read())) as kb, kb.reading() as db:
        assert [(each.verdict, each.note) for each in feedback.of(db, first)] == [
            ("wrong", "it is two"),
            ("archive", ""),
        ]
    assert b"the verdict is 'good'" in here("feedback", first, "good").err


def test_feedback_makes_no_store(here):
    done = here("feedback", "rec_1", "helpful")
    assert (done.status, b"there is no knowledge base at" in done.err) == (1, True)
