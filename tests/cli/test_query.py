"""`bankml query` as people and scripts use it."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from shutil import copy

import pytest

from bankml.embedders import choose
from bankml.store import Store
from tests.memory.remembered import record, remember

TOKENS = record(1, "Sessions expire", "A token lives for an hour.", "src/auth/token.py", category="decision")
BREAD = record(2, "Bread", "Bread is baked from flour in an oven.", tags=("food",))
OLD = record(3, "Sessions", "A token lived for a day.", status="superseded", superseded_by=TOKENS.id)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the first test leaves the store of all."""
    return tmp_path_factory.mktemp("made") / "kb.db"


@pytest.fixture
def db(tmp_path: Path, stocked_home: Path, made: Path) -> str:
    if not made.exists():
        with Store.create(made) as store:
            embedder = choose(name="all-MiniLM-L6-v2")
            remember(store, embedder, TOKENS, BREAD, OLD)
            embedder.close()
    return str(copy(made, tmp_path / "my kb.db"))


def test_json_is_what_scripts_rely_on(db: str, here: Callable) -> None:
    done = here("query", "--db", db, "--json", "-n", "1", "when", "must I log in again?")
    assert (done.status, done.err) == (0, b"")
    (answer,) = done.out.lines
    assert set(answer) == {"results", "status"}
    (first,) = answer["results"]
    assert {"id", "title", "content", "category", "affectedPaths", "score", "cosine"} <= set(first)
    assert "truncated" not in first
    assert (first["id"], first["content"], first["category"]) == (TOKENS.id, TOKENS.content, "decision")
    assert (first["affectedPaths"], first["paths_withheld"]) == ([], True)
    assert 0 < first["score"] < 1
    assert 0 < first["cosine"] < 1
    assert first["weak"] is False
    assert answer["status"].startswith("1 of 2 records · BM25 (FTS5) + all-MiniLM-L6-v2 (meaning, 2 of 2 passages")


def test_each_option_narrows_or_widens(db: str, here: Callable) -> None:
    def ids(*options: str) -> list[str]:
        (answer,) = here("query", "--db", db, "--json", "--mode", "words", *options, "token", "bread").out.lines
        return [result["id"] for result in answer["results"]]

    assert ids() == [BREAD.id, TOKENS.id]
    assert ids("--category", "decision") == [TOKENS.id]
    assert ids("--category", "decision", "--category", "fact") == [BREAD.id, TOKENS.id]
    preferred = here("query", "--db", db, "--json", "--explain", "--prefer", "decision", "bread").out.lines[0][
        "results"
    ]
    assert {each["id"]: each["explained"]["category"] for each in preferred} == {BREAD.id: 0.9, TOKENS.id: 1}
    assert ids("--status", "superseded") == [OLD.id]
    assert set(ids("--status", "any")) == {TOKENS.id, BREAD.id, OLD.id}
    assert ids("--tag", "food") == [BREAD.id]
    assert ids("--namespace", "global") == []
    assert ids("--fusion", "rrf", "-n", "1") == [BREAD.id]
    assert ids("--session", "s1") == [BREAD.id, TOKENS.id]


@pytest.mark.parametrize(
    "options",
    [("--status", "x"), ("--category", "x"), ("--mode", "x"), ("--fusion", "x"), ("-n", "0"), ("--namespace", "x")],
)
def test_what_is_no_choice_is_a_usage_error(db: str, here: Callable, options: tuple[str, str]) -> None:
    done = here("query", "--db", db, "--json", *options, "token")
    assert done.status == 2
    assert "see `bankml query --help`" in done.out.lines[0]["error"]


def test_a_session_that_is_not_named(db: str, here: Callable) -> None:
    done = here("query", "--db", db, "--namespace", "session", "token")
    assert (done.status, done.out) == (1, b"")
    assert b"say which with --session" in done.err


def test_lines_for_other_programs(db: str, here: Callable) -> None:
    *lines, status = here("query", "--db", db, "--mode", "words", "flour").out.decode().splitlines()
    assert [line.split("\t") for line in lines] == [
        [BREAD.id, "uncalibrated (lexical-only)", "Bread", "Bread is baked from flour in an oven.", ""]
    ]
    assert status == "# 1 of 2 records · BM25 (FTS5) alone, as asked"


def test_without_the_model_words_answer(db: str, stocked_home: Path, here: Callable) -> None:
    for model in (stocked_home / "models").iterdir():
        model.unlink()
    done = here("query", "--db", db, "--json", "flour")
    (answer,) = done.out.lines
    assert (done.status, [result["id"] for result in answer["results"]]) == (0, [BREAD.id])
    assert answer["results"][0]["score"] == "uncalibrated (lexical-only)"
    assert "BM25 (FTS5) alone: " in answer["status"]
    assert "bankml pull" in answer["status"]
    assert here("query", "--db", db, "--mode", "meaning", "flour").status == 1
    assert here("query", "--db", db, "--mode", "words", "flour").out.endswith(b"BM25 (FTS5) alone, as asked\n")


def test_search_by_meaning_that_is_switched_off(db: str, here: Callable) -> None:
    Path(db).with_name("config.yaml").write_text("search.vector.enabled: false\n")
    (answer,) = here("query", "--db", db, "--json", "flour").out.lines
    assert [result["id"] for result in answer["results"]] == [BREAD.id]
    assert "alone: search.vector.enabled is false" in answer["status"]


def test_another_model_than_the_stores_is_words_alone(db: str, here: Callable) -> None:
    (answer,) = here("query", "--db", db, "--json", "--model", "e5-small", "flour").out.lines
    assert [result["id"] for result in answer["results"]] == [BREAD.id]
    assert "Model mismatch" in answer["status"]
    assert here("query", "--db", db, "--model", " ", "flour").status == 1


def test_explained(db: str, here: Callable) -> None:
    shown = here("query", "--db", db, "--explain", "flour in src/a.py").out.decode()
    for part in ("# relevance 0.", "freshness 1", "identifier 0.98", "# fusion: convex", "# identifiers: src/a.py"):
        assert part in shown
    (answer,) = here("query", "--db", db, "--explain", "--json", "flour").out.lines
    assert answer["explained"]["terms"] == {"flour": 1}
    assert answer["results"][0]["explained"]["words_rank"] == 1


def test_a_file_that_changed_makes_it_needs_review(db: str, here: Callable, tmp_path: Path) -> None:
    (tmp_path / "repo" / "src" / "auth").mkdir(parents=True)
    (tmp_path / "repo" / ".git").mkdir()
    with Store.open(Path(db)) as store:
        cited = replace(TOKENS.cited[0], sha256="0" * 64, size=7)
        remember(store, None, replace(TOKENS, root=bytes(tmp_path / "repo"), cited=(cited,)))
    file = tmp_path / "repo" / "src" / "auth" / "token.py"
    file.write_text("changed since")
    (answer,) = here("query", "--db", db, "--json", "--mode", "words", "token").out.lines
    assert answer["results"][0]["freshness"] == "needs_review"


def test_here_paths_are_shown(db: str, here: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    (tmp_path / "repo" / "sub").mkdir()
    with Store.open(Path(db)) as store:
        remember(store, None, replace(TOKENS, root=bytes(tmp_path / "repo")))
    monkeypatch.chdir(tmp_path / "repo" / "sub")
    (answer,) = here("query", "--db", db, "--json", "--mode", "words", "src/auth/token.py").out.lines
    assert answer["results"][0]["affectedPaths"] == ["src/auth/token.py"]
    assert "paths_withheld" not in answer["results"][0]


def test_nothing_remembered_yet_and_no_store(db: str, here: Callable, tmp_path: Path) -> None:
    with Store.create(tmp_path / "empty.db"):
        pass
    done = here("query", "--db", str(tmp_path / "empty.db"), "token")
    assert (done.status, done.out.decode()) == (
        0,
        "# 0 of 0 records · nothing is remembered yet: run `bankml remember TITLE CONTENT`\n",
    )
    done = here("query", "--db", str(tmp_path / "none.db"), "--json", "token")
    assert (done.status, "bankml init" in done.out.lines[0]["error"]) == (1, True)


def test_texts_cannot_abuse_a_terminal(db: str, terminal: Callable, here: Callable) -> None:
    evil = "\x1b]0;owned\x07\x1b[2J\u202e\r\n"
    with Store.open(Path(db)) as store:
        hostile = record(9, f"Evil{evil}", f"evil {evil} text", f"a{evil}.py", tags=(evil,), root=bytes(Path.cwd()))
        remember(store, None, hostile)
    status, shown = terminal("query", "--db", db, "--mode", "words", "--explain", f"evil {evil}")
    assert status == 0
    assert "Evil" in shown
    for output in (shown, here("query", "--db", db, "--mode", "words", "--explain", f"evil {evil}").out.decode()):
        assert "\x1b]" not in output
        assert "\x1b[2J" not in output
        assert "\u202e" not in output
        assert "\x07" not in output
    (answer,) = here("query", "--db", db, "--mode", "words", "--json", "evil").out.lines
    assert json.dumps(answer)
    assert answer["results"][0]["title"] == f"Evil{evil}"


def test_drawn_for_people(db: str, terminal: Callable) -> None:
    status, shown = terminal("query", "--db", db, "bread", "--status", "any")
    assert status == 0
    for part in ("Bread", BREAD.id, "score 0.", "cosine 0.", "superseded by", "#food", "weak", "3 of 3 records"):
        assert part in shown


def test_lines_say_what_to_look_at_twice_and_whose_it_is(tmp_path: Path, here: Callable) -> None:
    with Store.create(tmp_path / "kb.db") as store:
        billing = {"root": b"/src/billing", "freshness": "stale"}
        remember(store, None, replace(BREAD, **billing), replace(TOKENS, freshness="needs_review", cited=()), OLD)

    def last(*query: str) -> str:
        first = here("query", "--db", str(tmp_path / "kb.db"), "--mode", "words", *query).out.decode().splitlines()[0]
        return first.split("\t")[-1]

    assert last("flour") == "stale, billing"
    assert last("hour") == "needs_review"
    assert last(BREAD.id) == "stale, exact, billing"
    assert last("day", "--status", "superseded") == "superseded"
