"""`bankml query --as-of` as people and scripts use it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bankml.store import Store
from tests.memory.written import DAY, record_id, said, write


@pytest.fixture
def db(tmp_path: Path) -> str:
    path = tmp_path / "kb.db"
    with Store.create(path) as store:
        write(store, 1, "Token life", [said("for an hour", DAY, confidence=0.5), said("for a day", 3 * DAY)])
        write(store, 2, "Token kind", [said("opaque", 4 * DAY)], category="decision", tags=("auth",))
        write(store, 3, "Token owner", [said("Ann", DAY)], status="superseded")
        write(store, 4, "Token secret", [said("hidden", DAY)], namespace="global")
    return str(path)


def test_json_is_that_of_a_query_with_the_time(db: str, here: Callable) -> None:
    done = here("query", "--db", db, "--json", "--as-of", "1970-01-03T00:00:00Z", "token", "life")
    (answer,) = done.out.lines
    assert (done.status, done.err, set(answer)) == (0, b"", {"results", "status", "as_of"})
    assert answer["as_of"] == "1970-01-03T00:00:00.000000Z"
    (result,) = answer["results"]
    now = here("query", "--db", db, "--json", "--mode", "words", "token", "life").out.lines[0]["results"][0]
    assert set(result) == set(now)
    assert (now["content"], now["confidence"]) == ("for a day", 1.0)
    assert result == now | {"content": "for an hour", "confidence": 0.5}
    assert "only content and confidence are those of then" in answer["status"]


def test_the_last_line_says_how_narrow_it_is(db: str, here: Callable) -> None:
    *lines, last = here("query", "--db", db, "--as-of", "1970-01-03T01:00:00+01:00", "token").out.decode().splitlines()
    assert [line.split("\t") for line in lines] == [
        [record_id(1), "uncalibrated (lexical-only)", "Token life", "for an hour", ""]
    ]
    assert last == (
        "# 1 of 1 project records that said something at 1970-01-03T00:00:00.000000Z · BM25 (FTS5) alone · found by "
        "the title, content, reasoning, tags and status they have now; only content and confidence are those of then"
    )


@pytest.mark.parametrize(
    ("options", "numbers"),
    [
        ((), [1, 2]),
        (("--category", "decision"), [2]),
        (("--tag", "auth"), [2]),
        (("--status", "superseded"), [3]),
        (("--status", "any"), [1, 2, 3]),
        (("--namespace", "project", "-n", "9", "--mode", "words"), [1, 2]),
    ],
)
def test_narrowed(db: str, here: Callable, options: tuple[str, ...], numbers: list[int]) -> None:
    (answer,) = here("query", "--db", db, "--json", "--as-of", "1970-01-09T00:00Z", *options, "token").out.lines
    assert sorted(result["id"] for result in answer["results"]) == [record_id(number) for number in numbers]


@pytest.mark.parametrize(
    ("options", "status", "sentence"),
    [
        (("--explain",), 2, "leave out --explain"),
        (("--mode", "meaning"), 2, "leave out --mode meaning"),
        (("--namespace", "project", "--namespace", "global"), 2, "leave out --namespace global"),
        (("--session", "s"), 2, "leave out --session"),
        (("--prefer", "fact"), 2, "leave out --prefer"),
        (("--fusion", "convex"), 2, "leave out --fusion"),
        (("--model", "all-minilm-l6-v2"), 2, "leave out --model"),
        (("--model", ""), 2, "leave out --model"),
        (("--as-of", "soon"), 1, "--as-of is 'soon': give a date or a time such as"),
        (("--as-of", ""), 1, "--as-of is ''"),
    ],
)
def test_what_cannot_be_asked_of_then(
    db: str, here: Callable, options: tuple[str, ...], status: int, sentence: str
) -> None:
    done = here("query", "--db", db, "--as-of", "2026-01-31", *options, "token")
    assert (done.status, sentence in done.err.decode()) == (status, True)


def test_a_long_content_of_then_is_cut_as_one_of_now(tmp_path: Path, here: Callable) -> None:
    with Store.create(tmp_path / "kb.db") as store:
        write(store, 1, "Token", [said("old " * 900 + "token", DAY), said("new", 2 * DAY)])
    asked = ("query", "--db", str(tmp_path / "kb.db"), "--json", "--as-of", "1970-01-02T12:00Z", "token")
    (result,) = here(*asked).out.lines[0]["results"]
    assert (result["truncated"], len(result["content"]), result["passage"].endswith("old token")) == (True, 2000, True)
