"""What is said of records later: all of it is kept, and nothing that was asserted is changed by it."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from bankml.errors import InputError
from bankml.memory.freshness import seen
from bankml.memory.verdicts import VERDICTS
from bankml.memory.writing import feedback, remember
from bankml.store import Cited, Feedback, assertions, records
from bankml.store.feedback import of
from tests.library.whole import faults


@pytest.fixture
def record(store, settings, draft, embedder, repository, clock):
    wanted = draft(paths=["src/auth.py"], root=bytes(repository), confidence=0.8)
    return remember(store, settings, wanted, embedder, clock).id


def history(store, record):
    with store.reading() as db:
        return assertions.of(db, record)


def test_every_verdict_is_kept_with_its_note_and_who_gave_it(store, record, clock):
    for verdict in VERDICTS:
        feedback(store, record, verdict, f" it is {verdict} \x1b[31m ", {"by": "a test"}, clock)
    with store.reading() as db:
        kept = of(db, record)
    assert [each.verdict for each in kept] == list(VERDICTS)
    assert kept[0] == Feedback("helpful", "it is helpful \x1b[31m", kept[0].recorded_at, {"by": "a test"})
    assert [each.recorded_at for each in kept] == sorted({each.recorded_at for each in kept})
    assert faults(store) == []


def test_helpful_changes_nothing(store, record, clock):
    with store.reading() as db:
        before = records.find(db, record)
    assert feedback(store, record, "helpful", clock=clock) == before


def test_what_is_confirmed_is_current_and_its_files_are_read_anew(store, record, repository, clock):
    (repository / "src" / "auth.py").write_text("TTL = 60 * 60\n")
    stale = feedback(store, record, "stale", clock=clock)
    assert (stale.freshness, seen(stale), stale.updated_at) == ("stale", "stale", clock.now)
    confirmed = feedback(store, record, "confirmed", clock=clock)
    assert (confirmed.freshness, seen(confirmed)) == ("current", "current")
    assert confirmed.cited[0].sha256 != stale.cited[0].sha256
    assert len(history(store, record)) == 1


def test_files_that_were_named_anew_meanwhile_are_kept_and_read(store, record, clock):
    with ThreadPoolExecutor(1) as thread:
        with store.writing() as db:
            confirmed = thread.submit(feedback, store, record, "confirmed", clock=clock)
            with pytest.raises(TimeoutError):
                confirmed.result(0.5)
            records.cite(db, record, [Cited(b"README.md")])
        (file,) = confirmed.result(30).cited
    assert (file.path, len(file.sha256)) == (b"README.md", 64)
    with store.reading() as db:
        assert [each.verdict for each in of(db, record)] == ["confirmed"]


def test_what_is_confirmed_without_its_repository_keeps_what_was_seen_of_its_files(store, record, repository, clock):
    with store.reading() as db:
        before = records.find(db, record).cited
    repository.rename(repository.with_name("away"))
    assert feedback(store, record, "confirmed", clock=clock).cited == before


def test_what_is_wrong_is_stale_and_asserted_anew_with_half_the_confidence(store, record, clock):
    wrong = feedback(store, record, "wrong", "it is two hours", {"by": "a test"}, clock)
    assert (wrong.freshness, wrong.confidence, wrong.status) == ("stale", 0.4, "active")
    first, second = history(store, record)
    assert (first.confidence, first.valid_to) == (0.8, second.valid_from)
    assert (second.confidence, second.content, second.provenance) == (0.4, first.content, {"by": "a test"})
    assert feedback(store, record, "wrong", clock=clock).confidence == 0.2


def test_what_is_archived_is_asserted_as_long_as_it_was(store, record, clock):
    assert feedback(store, record, "archive", clock=clock).status == "archived"
    assert feedback(store, record, "archive", clock=clock).status == "archived"
    assert history(store, record)[0].valid_to is None
    assert feedback(store, record, "wrong", clock=clock).freshness == "stale"
    assert len(history(store, record)) == 1  # nobody goes by it any more


def test_what_is_superseded_stays_so(store, settings, draft, embedder, record, clock):
    remember(store, settings, draft(title="new", supersedes=[record]), embedder, clock)
    with pytest.raises(InputError, match=f"{record} is superseded: nobody finds it"):
        feedback(store, record, "archive", clock=clock)
    with store.reading() as db:
        assert of(db, record) == []
    assert feedback(store, record, "wrong", clock=clock).status == "superseded"
    assert len(history(store, record)) == 1


@pytest.mark.parametrize(
    ("record_id", "verdict", "note", "sentence"),
    [
        ("rec_1", "helpful", "", "there is no record rec_1"),
        ("x", "helpful", "", "'x' is no id of a record"),
        (None, "good", "", "the verdict is 'good': give helpful, confirmed, stale, wrong or archive"),
        (None, "helpful", "x" * 70_000, "the note has 70,000 characters, more than 65,536"),
        (None, "helpful", 7, "the note is of type int"),
    ],
)
def test_what_is_no_feedback_is_a_sentence(store, record, record_id, verdict, note, sentence):
    with pytest.raises(InputError, match=sentence):
        feedback(store, record_id or record, verdict, note)
