"""`bankml context` as people and scripts use it."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from bankml.memory.context import BUDGET
from bankml.memory.cost import characters
from bankml.store import Store
from tests.memory.written import record_id, write


@pytest.fixture
def db(tmp_path: Path) -> str:
    path = tmp_path / "kb.db"
    with Store.create(path) as store:
        write(store, 1, "Never log tokens", category="constraint", content="Not even in debug.")
        write(store, 2, "Token life", content="A token lives for an hour. " * 20)
        write(store, 3, "Token owner", content="Ann", namespace="session", session="s1")
    return str(path)


def test_json_is_what_scripts_rely_on(db: str, here: Callable) -> None:
    done = here("context", "--db", db, "--json", "--query", "token life", "--task", "review", "--token-budget", "60")
    (answer,) = done.out.lines
    assert (done.status, done.err) == (0, b"")
    assert set(answer) == {"sections", "estimatedTokens", "excluded", "budget", "status"}
    assert [(section["title"], [item["id"] for item in section["items"]]) for section in answer["sections"]] == [
        ("Constraints", [record_id(1)])
    ]
    assert answer["estimatedTokens"] <= answer["budget"] == 60
    assert [set(left) for left in answer["excluded"]] == [{"id", "title", "reason"}]


def test_markdown_alone_is_on_stdout(db: str, here: Callable) -> None:
    done = here("context", "--db", db, "--query", "token", "--session", "s1")
    shown = done.out.decode()
    assert shown.startswith(
        f"## Constraints\n\n- **Never log tokens** ({record_id(1)})\n  Not even in debug.\n\n## Facts\n"
    )
    assert f"- **Token owner** ({record_id(3)})\n  Ann\n" in shown
    told = done.err.decode().splitlines()
    assert len(told) == 1
    assert told[0].startswith("bankml: 3 records in ")
    used = int(re.search(r"in (\d+) of 1,500 tokens", told[0])[1])
    assert characters(shown) <= used


def test_what_was_left_out_is_told(db: str, here: Callable) -> None:
    done = here("context", "--db", db, "--query", "token", "--token-budget", "0")
    assert (done.status, done.out) == (0, b"")
    lines = done.err.decode().splitlines()
    assert lines[0].startswith(f"bankml: left out {record_id(1)} Never log tokens: budget: it takes ")
    assert lines[-1].startswith("bankml: 0 records in 0 of 0 tokens")


def test_only_the_first_of_many_that_were_left_out(tmp_path: Path, here: Callable) -> None:
    with Store.create(tmp_path / "kb.db") as store:
        for number in range(14):
            write(store, number, f"Token {number}")
    done = here("context", "--db", str(tmp_path / "kb.db"), "--query", "token", "--token-budget", "1")
    lines = done.err.decode().splitlines()
    assert (len(lines), lines[10]) == (12, "bankml: left out 4 more, which --json lists")


def test_tokens_of_the_stores_model(db: str, here: Callable, stocked_home: Path) -> None:
    asked = ("context", "--db", db, "--json", "--query", "token life")
    (by_characters,) = here(*asked).out.lines
    (by_model,) = here(*asked, "--tokenizer", "model").out.lines
    assert by_model["estimatedTokens"] != by_characters["estimatedTokens"]
    (e5,) = here(*asked, "--tokenizer", "model", "--model", "e5-small").out.lines
    assert e5["estimatedTokens"] not in {by_model["estimatedTokens"], by_characters["estimatedTokens"]}


def test_tokens_of_a_model_that_is_not_here(db: str, here: Callable) -> None:
    assert here("context", "--db", db, "--query", "token").status == 0
    done = here("context", "--db", db, "--query", "token", "--tokenizer", "model", "--json")
    assert done.status == 1
    assert "run `bankml pull all-minilm-l6-v2`" in done.out.lines[0]["error"]


@pytest.mark.parametrize(
    ("arguments", "status", "sentence"),
    [
        (("--query", "token", "--token-budget", "-1"), 2, "--token-budget"),
        (("--query", "token", "--token-budget", "1" + "0" * 30), 1, "give a number from 0 to 1,000,000,000"),
        (("--query", "token", "--token-budget", "many"), 2, "--token-budget"),
        (("--query", "token", "--tokenizer", "bpe"), 2, "bpe"),
        (("--query", "token", "--model", ""), 1, "--model is ''"),
        ((), 2, "--query"),
    ],
)
def test_what_cannot_be_asked(db: str, here: Callable, arguments: tuple[str, ...], status: int, sentence: str) -> None:
    done = here("context", "--db", db, *arguments)
    assert (done.status, sentence in done.err.decode()) == (status, True)


def test_the_budget_that_help_names_is_the_one_that_counts(here: Callable) -> None:
    assert f"default: ({BUDGET})" in here("context", "--help").out.decode()


def test_an_empty_query_gives_the_constraints(db: str, here: Callable) -> None:
    (answer,) = here("context", "--db", db, "--json", "--query", "").out.lines
    assert [section["title"] for section in answer["sections"]] == ["Constraints"]


def test_texts_cannot_abuse_a_terminal(tmp_path: Path, terminal: Callable) -> None:
    with Store.create(tmp_path / "kb.db") as store:
        write(store, 1, "Token \x1b[2J", content="a\x1b]0;x\x07\n## Constraints\r\n\u202eb")
    status, shown = terminal("context", "--db", str(tmp_path / "kb.db"), "--query", "token")
    assert status == 0
    assert not re.search("\x1b|\x07|\u202e", shown)
    assert [line for line in shown.splitlines() if line.startswith("##")] == ["## Facts"]


def test_no_store(tmp_path: Path, here: Callable) -> None:
    done = here("context", "--db", str(tmp_path / "none.db"), "--query", "token")
    assert (done.status, b"run `bankml init`" in done.err) == (1, True)
