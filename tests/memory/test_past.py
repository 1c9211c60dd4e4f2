"""What the records of a project said at a time."""

import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bankml.embedders import Embedder
from bankml.errors import InputError
from bankml.lexical import Index
from bankml.library.search.searcher import MOST, Searcher
from bankml.memory import instant
from bankml.memory import past as memory_past
from bankml.memory.freshness import Look
from bankml.memory.past import as_of, held
from bankml.memory.recall.recalled import Recalled
from bankml.memory.recall.recaller import Recaller
from bankml.store import Store, records
from bankml.store.record import passage
from tests.memory.written import DAY, record_id, said, write


def no_model() -> Embedder:
    pytest.fail("a model is asked for")


def past(store: Store, query: str, at: int, n: int = 10, **how) -> Recalled:
    return as_of(Recaller(Searcher(store, no_model)), query, at, n, **how)


def found(store: Store, query: str, at: int, n: int = 10, **how) -> list[tuple[str, str]]:
    return [(then.record.id, then.record.content) for then in past(store, query, at, n, **how).results]


def test_one_look_sees_all_of_an_answer(store, monkeypatch):
    looks: list[Look] = []

    class Counted(Look):
        def __init__(self) -> None:
            super().__init__()
            looks.append(self)

    monkeypatch.setattr("bankml.memory.recall.recaller.Look", Counted)
    for number in range(3):
        write(store, number, f"Token {number}", [said("for an hour", 1)])
    assert len(past(store, "token", 5).results) == 3
    assert len(looks) == 1


def test_it_says_what_was_held_then(store: Store) -> None:
    first = write(
        store, 1, "Token life", [said("an hour", DAY, confidence=0.5), said("a day", 3 * DAY, confidence=0.9)]
    )
    assert found(store, "token", DAY - 1) == []
    assert found(store, "token", DAY) == [(first, "an hour")]
    assert found(store, "token", 3 * DAY - 1) == [(first, "an hour")]
    assert found(store, "token", 3 * DAY) == [(first, "a day")]
    assert found(store, "token", 9 * DAY) == [(first, "a day")]
    (then,) = past(store, "token", 2 * DAY).results
    assert (then.record.confidence, then.score, then.cosine, then.words_rank) == (
        0.5,
        "uncalibrated (lexical-only)",
        None,
        1,
    )


def test_an_assertion_holds_up_to_its_end(store: Store) -> None:
    record = write(store, 1, "Token", [said("life", DAY, 2 * DAY)])
    assert found(store, "token", 2 * DAY - 1) == [(record, "life")]
    assert found(store, "token", 2 * DAY) == []


def test_it_is_chosen_by_what_it_says_now(store: Store) -> None:
    """Words that it held only then find nothing; those that it has only now do, of whatever part of the record."""
    record = write(
        store, 1, "Life", [said("an hour", DAY), said("a day", 3 * DAY)], reasoning="shorter annoys", tags=("auth",)
    )
    assert found(store, "hour", 2 * DAY) == []
    for query in ("day", "life", "annoys", "auth"):
        assert found(store, query, 2 * DAY) == [(record, "an hour")]


def test_title_category_status_and_freshness_are_those_of_now(store: Store) -> None:
    record = write(
        store, 1, "Now", [said("now", DAY), said("now too", 2 * DAY)], category="decision", freshness="stale"
    )
    (then,) = past(store, "now", DAY).results
    with store.reading() as db:
        now = records.find(db, record)
    assert now is not None
    assert (then.record.title, then.record.category, then.record.freshness) == (now.title, "decision", "stale")
    with store.writing() as db:
        records.mark(db, record, 9 * DAY, status="archived")
    assert found(store, "now", DAY) == []
    assert found(store, "now", DAY, statuses=("archived",)) == [(record, "now")]


def test_records_of_the_project_alone(store: Store) -> None:
    for number, namespace in enumerate(("session", "organization", "global", "project")):
        write(store, number, "Token", [said("life", DAY)], namespace=namespace, session="s" * (namespace == "session"))
    assert found(store, "token", DAY) == [(record_id(3), "life")]


def test_categories_and_tags_narrow_it(store: Store) -> None:
    write(store, 1, "Token", [said("life", DAY)], category="decision", tags=("a", "b"))
    write(store, 2, "Token", [said("life", DAY)], tags=("a",))
    assert found(store, "token", DAY, categories=("decision", "state")) == [(record_id(1), "life")]
    assert found(store, "token", DAY, tags=("b",)) == [(record_id(1), "life")]
    assert len(found(store, "token", DAY, tags=("a",))) == 2


def test_what_said_nothing_then_takes_no_place_of_the_n(store: Store) -> None:
    for number in range(30):
        write(store, number, "Token token token", [said("life", 5 * DAY)])
    old = write(store, 99, "Token, in a much longer title that ranks it last of all", [said("life", DAY)])
    assert found(store, "token", 2 * DAY, n=1) == [(old, "life")]
    assert len(found(store, "token", 5 * DAY, n=7)) == 7


def test_a_correction_that_was_recorded_later_counts(store: Store) -> None:
    """About an earlier time, and whatever the clock said meanwhile: recorded_at tells which is newer."""
    record = write(
        store,
        1,
        "Token",
        [said("an hour", 10 * DAY), said("a day", 20 * DAY), said("a week, it was", 12 * DAY, 15 * DAY, 30 * DAY)],
    )
    told = [found(store, "token", day * DAY)[0][1] for day in (10, 11, 12, 14, 15, 19, 20)]
    assert told == ["an hour", "an hour", "a week, it was", "a week, it was", "an hour", "an hour", "a day"]
    assert found(store, "token", 9 * DAY) == []
    assert record == record_id(1)


def test_a_clock_that_went_backwards(store: Store) -> None:
    """The newest by recorded_at holds, and of equals the one of the larger id."""
    write(store, 1, "Token", [said("later", DAY, 9 * DAY, 5 * DAY), said("set back", DAY, 9 * DAY, 4 * DAY)])
    write(store, 2, "Token", [said("one", DAY, 9 * DAY, 5 * DAY), said("the other", DAY, 9 * DAY, 5 * DAY)])
    assert sorted(found(store, "token", 2 * DAY)) == [(record_id(1), "later"), (record_id(2), "the other")]


def test_a_long_record_is_found_once(store: Store) -> None:
    record = write(store, 1, "Token", [said("life", DAY)])
    with store.writing() as db:
        whole = records.find(db, record)
        assert whole
        passages = [passage(f"token {part}", "Token", part, 3) for part in range(9)]
        records.put(db, whole, passages, "1")
    write(store, 2, "Token", [said("life", DAY)])
    assert sorted(found(store, "token", DAY, n=2)) == [(record_id(1), "life"), (record_id(2), "life")]


def test_scores_are_those_of_the_ranking_by_words(store: Store) -> None:
    for number in range(6):
        write(store, number, "token" + " other" * number, [said("x", DAY)])
    relevance = [then.relevance for then in past(store, "token other", DAY).results]
    index = Index()
    index.extend([" ".join(["token" + " other" * number] * 2 + ["x"]) for number in range(6)])
    scores = index.search("token other", 6)[1]
    assert relevance == pytest.approx((scores / scores[0]).tolist())


def test_the_status_says_how_narrow_it_is(store: Store) -> None:
    write(store, 1, "Token", [said("life", DAY)])
    write(store, 2, "Other", [said("thing", DAY)])
    write(store, 3, "Token", [said("life", 2 * DAY)])
    answer = past(store, "token", DAY)
    assert answer.status == (
        "1 of 2 project records that said something at 1970-01-02T00:00:00.000000Z · BM25 (FTS5) alone · found by the "
        "title, content, reasoning, tags and status they have now; only content and confidence are those of then"
    )
    assert "no letter and no digit" in past(store, "?!", DAY).status
    assert past(store, "?!", DAY).results == []


def test_what_held_is_told_by_an_index_alone(store: Store) -> None:
    with store.reading() as db:
        plan = "\n".join(row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {memory_past.HOLDING}", {"at": DAY}))
    assert re.search("assertions USING COVERING INDEX assertions_valid", plan), plan


def test_what_held_is_remembered_until_something_is_written(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    write(store, 1, "Token", [said("life", DAY)])
    recaller = Recaller(Searcher(store, no_model))
    asked = memory_past.HOLDING
    assert len(as_of(recaller, "token", DAY).results) == 1
    monkeypatch.setattr(memory_past, "HOLDING", "SELECT document_id FROM records WHERE :at IS NULL")
    assert len(as_of(recaller, "token life", DAY).results) == 1
    assert as_of(recaller, "token", 2 * DAY).results == []
    monkeypatch.setattr(memory_past, "HOLDING", asked)
    write(store, 2, "Token", [said("kind", DAY)])
    assert len(as_of(recaller, "token", DAY).results) == 2


@pytest.mark.parametrize("at", ["0001-01-01T00:00Z", "9999-12-31T23:59:59+00:00", "2026-01-31", "2026-01-31T09:30"])
def test_any_time_can_be_asked_for(store: Store, at: str) -> None:
    write(store, 1, "Token", [said("life", DAY)])
    answer = past(store, "token", instant.parse(at))
    assert len(answer.results) == (not at.startswith("0001"))
    assert instant.iso(instant.parse(at)) in answer.status


@pytest.mark.parametrize(("query", "n"), [(b"token", 1), (None, 1), ("token", 0), ("token", MOST + 1), ("token", "1")])
def test_what_cannot_be_asked(store: Store, query: object, n: object) -> None:
    with pytest.raises(InputError, match=r"give a (str|number)"):
        past(store, query, 0, n)  # type: ignore[arg-type]


@pytest.mark.parametrize("query", ['"', "token OR", "NEAR(", "a" * 100_000, "\x00token", "\ud800", "*", "-token"])
def test_hostile_queries_are_answered(store: Store, query: str) -> None:
    write(store, 1, "Token", [said("life", DAY)])
    assert past(store, query, DAY).status


TIMES = st.integers(0, 6)
ASSERTIONS = st.lists(st.tuples(TIMES, st.none() | TIMES, TIMES), max_size=5)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(ASSERTIONS, st.sampled_from(["active", "archived"]), st.booleans()), max_size=5),
    TIMES,
    st.integers(1, 3),
)
def test_it_is_what_a_plain_model_says(every, at: int, n: int) -> None:
    """Of every record, in the order that the same words give it: the newest assertion that holds, or it is none."""
    expected = []
    with tempfile.TemporaryDirectory() as folder, Store.create(Path(folder) / "kb.db") as store:
        for number, (spans, status, own) in enumerate(every):
            given = [said(f"{number}.{seq}", *span) for seq, span in enumerate(spans)]
            namespace = "project" if own else "global"
            title = "token" + " other" * number  # each is longer than the last, so they rank in this order
            record = write(store, number, title, given, content="x", status=status, namespace=namespace)
            if status == "active" and own and (content := plain(spans, at)) is not None:
                expected.append((record, f"{number}.{content}"))
        assert found(store, "token", at, n) == expected[:n]


def plain(spans: list[tuple[int, int | None, int]], at: int) -> int | None:
    """Which of the assertions, one after another, says what holds at a time; each ends what was open before it."""
    kept: list[list] = []
    for seq, (start, end, recorded) in enumerate(spans):
        for before in kept:
            if before[1] is None and before[0] < start:
                before[1] = start
        kept.append([start, end, recorded, seq])
    holding = [(recorded, seq) for start, end, recorded, seq in kept if start <= at and (end is None or at < end)]
    return max(holding)[1] if holding else None


def test_none_holds() -> None:
    assert held([], 0) is None
    assert held([said("a", 1, 2)], 2) is None
    assert held([said("a", 1, 1)], 1) is None
