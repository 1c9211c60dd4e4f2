"""What an agent is handed for a task, within a number of tokens."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bankml.embedders import Embedder, choose
from bankml.errors import InputError, UnavailableError
from bankml.library.search.searcher import Searcher
from bankml.memory.context import CANDIDATES, LARGEST, NAMED, Pack, pack
from bankml.memory.cost import Count, characters, counting
from bankml.memory.draft import Draft
from bankml.memory.recall.recaller import Recaller
from bankml.memory.writing import remember
from bankml.settings import Settings
from bankml.store import Cited, Record, Store
from bankml.store.record import CATEGORIES, Freshness
from tests.memory.written import record_id, write, write_in

MUCH = 100_000


def no_model() -> Embedder:
    raise UnavailableError("no model here")


def packed(store: Store, query: str, task: str = "", budget: int = MUCH, **how) -> Pack:
    return pack(Recaller(Searcher(store, no_model)), query, task, budget, **how)


def ids(found: Pack) -> dict[str, list[str]]:
    return {title: [entry.id for entry, _ in some] for title, some in found.sections.items()}


def test_sections_in_their_order_and_ready_to_paste(store: Store) -> None:
    for number, category in enumerate(reversed(CATEGORIES)):
        write(
            store,
            number,
            f"Token {category}",
            category=category,
            content="line\n\n  code\n# no heading",
            confidence=0.5,
        )
    found = packed(store, "token")
    assert list(found.sections) == ["Constraints", "Decisions", "Facts", "Architecture", "State"]
    assert found.markdown().startswith(
        f"""## Constraints

- **Token constraint** ({record_id(2)}, confidence 0.5)
  line
    code
  # no heading

## Decisions

- **Token decision** ("""
    )
    assert found.object()["sections"][0] == {
        "title": "Constraints",
        "items": [
            {
                "id": record_id(2),
                "title": "Token constraint",
                "content": "line\n\n  code\n# no heading",
                "category": "constraint",
                "affectedPaths": [],
                "freshness": "current",
                "confidence": 0.5,
                "namespace": "project",
                "tokens": characters(
                    f"- **Token constraint** ({record_id(2)}, confidence 0.5)\n  line\n    code\n  # no heading\n"
                ),
            }
        ],
    }
    assert set(found.object()) == {"sections", "estimatedTokens", "excluded", "budget", "status"}


def test_constraints_come_first_whatever_was_asked(store: Store) -> None:
    write(store, 1, "Never log tokens", category="constraint")
    write(store, 2, "Write in English", category="constraint")
    write(store, 3, "Use spaces", category="constraint")
    write(store, 4, "A token lives an hour", category="fact")
    whole = packed(store, "tokens token")
    assert ids(whole) == {"Constraints": [record_id(1), record_id(3), record_id(2)], "Facts": [record_id(4)]}
    cost = sum(cost for _, cost in whole.sections["Constraints"]) + characters("\n## Constraints\n\n")
    tight = packed(store, "tokens token", budget=cost)
    assert ids(tight) == {"Constraints": [record_id(1), record_id(3), record_id(2)]}
    assert [(left.id, left.reason.split(",")[1]) for left in tight.excluded] == [(record_id(4), " 0 are left")]


def test_a_constraint_that_ranks_is_there_once(store: Store) -> None:
    write(store, 1, "Token", category="constraint")
    found = packed(store, "token")
    assert ids(found) == {"Constraints": [record_id(1)]}
    assert found.excluded == []


def test_hundreds_of_constraints_leave_room_for_candidates(store: Store) -> None:
    for number in range(300):
        write(store, number, f"Token token {number}", category="constraint")
    for number in range(300, 300 + CANDIDATES + NAMED + 5):
        write(store, number, f"A much longer title with token {number}")
    found = packed(store, "token")
    assert {title: len(some) for title, some in ids(found).items()} == {"Constraints": 300, "Facts": CANDIDATES}
    assert [left.reason for left in found.excluded] == ["rank: it is behind the 30 candidates"] * NAMED
    small = packed(store, "token", budget=500)
    assert len(small.excluded) > 250
    assert {left.id for left in small.excluded}.isdisjoint(ids(small)["Constraints"])


def test_more_constraints_than_a_query_has_results_leave_room_for_candidates(store: Store) -> None:
    with store.writing() as db:
        for number in range(1200):
            write_in(db, number, f"Token token {number}", category="constraint")
        for number in range(1200, 1200 + CANDIDATES + NAMED):
            write_in(db, number, f"A much longer title with token {number}")
    found = packed(store, "token")
    assert {title: len(some) for title, some in ids(found).items()} == {"Constraints": 1200, "Facts": CANDIDATES}
    assert len(found.excluded) == NAMED


def test_what_the_budget_has_no_room_for_is_not_read(store: Store) -> None:
    with store.writing() as db:
        for number in range(1200):
            title, content = ("Token", "small") if number == 7 else (f"Token {number} {'t' * 300}", "word " * 100)
            write_in(db, number, title, category="constraint", content=content)
    looked_at: list[str] = []

    def seen(record: Record) -> Freshness:
        looked_at.append(record.id)
        return "current"

    found = pack(Recaller(Searcher(store, no_model), seen), "else", budget=600)
    assert 2 <= len(ids(found)["Constraints"]) <= 5
    assert record_id(7) in ids(found)["Constraints"]
    assert len(looked_at) < 200
    assert len(found.excluded) == 1200 - len(ids(found)["Constraints"])
    assert all(left.reason.startswith("budget: ") for left in found.excluded)
    assert {len(left.title) for left in found.excluded} == {200}


def test_what_does_not_fit_is_left_out_whole_and_a_smaller_one_taken(store: Store) -> None:
    write(store, 1, "Token token token", content="token " * 300)
    write(store, 2, "Token", content="small")
    found = packed(store, "token", budget=60)
    assert ids(found) == {"Facts": [record_id(2)]}
    (left,) = found.excluded
    assert (left.id, left.title) == (record_id(1), "Token token token")
    assert left.reason.startswith("budget: it takes ")


def test_what_says_the_same_is_said_once(store: Store) -> None:
    for number in range(3):
        write(store, number, "Token", content="the same")
    write(store, 3, "Token", content="the same", category="state")
    found = packed(store, "token")
    assert ids(found) == {"Facts": [record_id(2)], "State": [record_id(3)]}
    assert {left.reason for left in found.excluded} == {f"duplicate: {record_id(2)} says the same"}


def test_the_task_ranks_too(store: Store) -> None:
    write(store, 1, "Authentication")
    write(store, 2, "Migration")
    assert set(ids(packed(store, "authentication", "migration"))["Facts"]) == {record_id(1), record_id(2)}
    assert ids(packed(store, "authentication")) == {"Facts": [record_id(1)]}
    assert ids(packed(store, " ", "migration")) == {"Facts": [record_id(2)]}


def test_active_records_of_the_project_and_the_session_alone(store: Store) -> None:
    """Each says something else: one that did not belong would be no duplicate."""
    for start, category in ((0, "constraint"), (10, "fact")):
        for number, how in enumerate(
            (
                {"status": "archived"},
                {"namespace": "organization"},
                {"namespace": "global"},
                {"namespace": "session", "session": "mine"},
                {"namespace": "session", "session": "theirs"},
            ),
            start,
        ):
            write(store, number, f"Token {number}", category=category, **how)
    alone, mine = packed(store, "token"), packed(store, "token", session="mine")
    assert (ids(alone), alone.excluded) == ({}, [])
    assert (ids(mine), mine.excluded) == ({"Constraints": [record_id(3)], "Facts": [record_id(13)]}, [])


def test_a_sessions_own_constraints_are_candidates(store: Store) -> None:
    """Ranked with the others, so neither leaves the other out."""
    with store.writing() as db:
        for number in range(200):
            write_in(db, number, f"Token {number}", category="constraint", namespace="session", session="mine")
        for number in range(200, 260):
            write_in(db, number, f"Token {number}")
    shown = {title: len(some) for title, some in ids(packed(store, "token", session="mine")).items()}
    assert sum(shown.values()) == CANDIDATES
    assert min(shown.values()) > 5


def test_a_long_content_is_cut_with_a_mark_and_what_was_looked_for(store: Store) -> None:
    write(store, 1, "Long", content="word " * 600 + "token")
    text = packed(store, "token").markdown()
    assert "  [cut at 2,000 of 3,005 characters; whole: bankml timeline --full]\n" in text
    assert "  [from it] …" in text
    assert "word token" in text
    assert packed(store, "token").object()["sections"][0]["items"][0]["truncated"] is True


def test_files_of_this_root_alone(store: Store) -> None:
    write(store, 1, "Token", cited=(Cited(b"src/a.py"), Cited(b"b.py")), root=b"/nowhere")
    assert "  Files: src/a.py, b.py\n" in packed(store, "token", root=b"/nowhere").markdown()
    assert "Files" not in packed(store, "token", root=b"/elsewhere").markdown()


def test_what_should_be_doubted_is_marked(store: Store) -> None:
    write(store, 1, "Token", freshness="needs_review", category="constraint")
    write(store, 2, "Token", freshness="stale")
    text = packed(store, "token").markdown()
    assert f"({record_id(1)}, needs review)" in text
    assert f"({record_id(2)}, stale)" in text


def test_nothing_asked_gives_constraints_the_newest_first(store: Store) -> None:
    for number in range(3):
        write(store, number, f"Rule {number}", category="constraint")
    write(store, 9, "Token")
    found = packed(store, "", "")
    assert ids(found) == {"Constraints": [record_id(2), record_id(1), record_id(0)]}
    assert "no letter and no digit" in found.status


def test_no_records(store: Store) -> None:
    found = packed(store, "token")
    assert (found.markdown(), found.tokens, found.excluded) == ("", 0, [])
    assert "nothing is remembered yet" in found.status


def test_the_status_says_what_is_in_it(store: Store) -> None:
    write(store, 1, "Token", category="constraint")
    write(store, 2, "Token life")
    status = packed(store, "token").status
    assert status.startswith("2 records in ")
    assert " · 1 constraint pinned first · of others 1 of 1 records · BM25 (FTS5) alone: no model here · " in status
    assert status.endswith("no peers and nothing of the organization or global")


@pytest.mark.parametrize("budget", [-1, LARGEST + 1, 1.5, "5", True, None])
def test_a_budget_that_is_none(store: Store, budget: object) -> None:
    with pytest.raises(InputError, match="give a number from 0 to 1,000,000,000"):
        packed(store, "token", budget=budget)  # type: ignore[arg-type]


@pytest.mark.parametrize("budget", [0, 1, 5, LARGEST])
def test_any_other_budget_is_kept(store: Store, budget: int) -> None:
    write(store, 1, "Token", category="constraint")
    found = packed(store, "token", budget=budget)
    assert (found.tokens <= budget, len(found.excluded)) == (True, budget < LARGEST)


def test_every_budget_is_kept(store: Store) -> None:
    """Also those that an entry fits into, and its heading does not."""
    write(store, 1, "Rule", category="constraint", content="short")
    write(store, 2, "Token", content="somewhat longer")
    whole = packed(store, "token").tokens
    for budget in range(whole + 2):
        found = packed(store, "token", budget=budget)
        assert characters(found.markdown()) <= found.tokens <= budget
    assert found.tokens == whole


@pytest.fixture(scope="module")
def embedder(minilm: Path) -> Iterator[Embedder]:
    embedder = choose(name=minilm)
    yield embedder
    embedder.close()


@pytest.fixture(scope="module", params=["characters", "minilm", "e5"])
def count(request: pytest.FixtureRequest) -> Iterator[Count]:
    """Characters, WordPiece, Unigram with a document prefix."""
    if request.param == "characters":
        yield characters
        return
    embedder = choose(name=request.getfixturevalue(request.param))
    yield counting(embedder)
    embedder.close()


TEXTS = st.text(max_size=80) | st.lists(
    st.sampled_from(["token", " ", "\n", "ﷺ", "# ", "的", "e\u0301", "\x1b[2J"])
).map("".join)
RECORDS = st.lists(st.tuples(TEXTS, TEXTS, st.sampled_from(CATEGORIES)), max_size=6)


@hypothesis.settings(max_examples=25, deadline=None)
@given(RECORDS, st.integers(0, 120) | st.integers(0, 1000))
def test_the_estimate_bounds_the_pack_and_never_exceeds_the_budget(count: Count, every, budget: int) -> None:
    with tempfile.TemporaryDirectory() as folder, Store.create(Path(folder) / "kb.db") as store:
        for number, (title, content, category) in enumerate(every):
            write(store, number, f"token {title}", content=content, category=category)
        found = packed(store, "token", budget=budget, count=count)
    assert count(found.markdown()) <= found.tokens <= budget
    taken = {entry.id for some in found.sections.values() for entry, _ in some}
    left = {each.id for each in found.excluded}
    assert taken | left == {record_id(number) for number in range(len(every))}
    assert not taken & left


def test_the_tokens_of_a_model_are_those_of_its_tokenizer(embedder: Embedder) -> None:
    assert [counting(embedder)(text) for text in ("", "hello world", "hello " * 1000)] == [0, 2, 1000]


def test_a_model_without_a_tokenizer_here_is_told() -> None:
    class Remote:
        model, provider = "bge-m3", "ollama"

    with pytest.raises(UnavailableError, match=r"bge-m3 is run by ollama.*leave out --tokenizer"):
        counting(Remote())  # type: ignore[arg-type]


def test_meaning_ranks_what_words_do_not_find(store: Store, minilm: Path) -> None:
    embedder = choose(name=minilm)
    remembered = [
        remember(store, Settings.read(), Draft.of(title, content), lambda: embedder).id
        for title, content in (
            ("Bread", "It is baked from flour in an oven."),
            ("Boot loader", "GRUB loads Linux and hands over to it."),
        )
    ]
    found = pack(Recaller(Searcher(store, lambda: embedder)), "what happens when my computer is turned on?", budget=40)
    assert ids(found) == {"Facts": [remembered[1]]}
    assert [left.id for left in found.excluded] == [remembered[0]]
    embedder.close()


def test_freshness_is_as_it_is_seen_now(store: Store) -> None:
    for number, category in enumerate(("constraint", "fact")):
        write(store, number, f"{category} token", category=category)
    recaller = Recaller(Searcher(store, no_model), lambda _: "needs_review")
    assert pack(recaller, "fact").markdown().count("needs review)") == 2
