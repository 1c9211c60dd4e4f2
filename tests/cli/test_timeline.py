"""`bankml timeline` as people and scripts use it."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from bankml.cli.events import AROUND, compared, shortened
from bankml.memory.changes import Change
from bankml.store import Feedback, Store, assertions, feedback
from tests.memory.written import DAY, record_id, said, write


@pytest.fixture
def db(tmp_path: Path) -> str:
    path = tmp_path / "kb.db"
    with Store.create(path) as store:
        write(store, 1, "Token life", [said("A token lives for an hour.", DAY, confidence=0.5)], category="decision")
        with store.writing() as db:
            assertions.put(db, record_id(1), said("A token lives for a day.", 3 * DAY))
            assertions.put(db, record_id(1), said("A token lives for an hour and more.", DAY, 2 * DAY, 5 * DAY))
            feedback.put(db, record_id(1), Feedback("stale", "ask\nAnn", 4 * DAY))
        write(store, 2, "Older", superseded_by=record_id(1), status="superseded")
    return str(path)


def test_json_is_what_scripts_rely_on(db: str, here: Callable) -> None:
    done = here("timeline", "--db", db, "--json", record_id(1))
    (answer,) = done.out.lines
    assert (done.status, done.err) == (0, b"")
    assert set(answer) == {"id", "title", "status", "assertions", "supersedes", "superseded_by", "feedback"}
    assert set(answer["assertions"][0]) == {"content", "valid_from", "valid_to", "recorded_at", "confidence"}
    assert answer["assertions"][0]["valid_to"] == "1970-01-04T00:00:00.000000Z"
    assert [each["content"][:26] for each in answer["assertions"]][0::2] == [
        "A token lives for an hour.",
        "A token lives for an hour ",
    ]
    assert answer["feedback"] == [
        {"verdict": "stale", "note": "ask\nAnn", "recorded_at": "1970-01-05T00:00:00.000000Z"}
    ]


def test_whole_contents(tmp_path: Path, here: Callable) -> None:
    with Store.create(tmp_path / "kb.db") as store:
        write(store, 1, "Token", [said("x" * 601, DAY)])
    for options, length in (((), 600), (("--full",), 601)):
        (answer,) = here("timeline", "--db", str(tmp_path / "kb.db"), "--json", *options, "rec_0").out.lines
        assert len(answer["assertions"][0]["content"]) == length
        assert ("truncated" in answer["assertions"][0]) == (length == 600)


def test_lines_for_other_programs(db: str, here: Callable) -> None:
    lines = here("timeline", "--db", db, record_id(1)).out.decode().splitlines()
    first, second, third, fourth = (f"1970-01-0{day}T00:00:00.000000Z" for day in (2, 4, 6, 5))
    assert [line.split("\t") for line in lines[:-1]] == [
        ["asserted", first, first, second, "0.5", "A token lives for an hour."],
        ["asserted", second, second, "", "1", "A token lives for a day."],
        ["asserted", third, first, "1970-01-03T00:00:00.000000Z", "1", "A token lives for an hour and more."],
        ["stale", fourth, "", "", "", "ask Ann"],
    ]
    assert lines[-1] == f"#  Token life  {record_id(1)}  decision, active  supersedes {record_id(2)}"


def test_drawn_with_what_changed(db: str, terminal: Callable) -> None:
    status, shown = terminal("timeline", "--db", db, record_id(1))
    assert status == 0
    lines = re.sub(r"\x1b\[[0-9;]*m", "", shown).splitlines()
    assert lines == [
        f"Token life  {record_id(1)}  decision, active",
        "● true from 1970-01-02 00:00:00Z until 1970-01-04 00:00:00Z  confidence 0.5",
        "│ A token lives for an hour.",
        "│",
        "● true from 1970-01-04 00:00:00Z on  confidence 1, was 0.5",
        "│ A token lives for ana hourday.",
        "│",
        "○ stale  1970-01-05 00:00:00Z",
        "│ ask",
        "│ Ann",
        "│",
        "● true from 1970-01-02 00:00:00Z until 1970-01-03 00:00:00Z  recorded 1970-01-06 00:00:00Z  "
        "confidence 1, was 0.5",
        "│ A token lives for an hour and more.",  # beside what held then, not beside what was recorded before
        "│",
        f"└ supersedes {record_id(2)}",
    ]
    assert re.search(r"\x1b\[9;31man\x1b\[0m\x1b\[1;32ma\x1b\[0m", shown)
    assert re.search(r"hour\x1b\[1;32m and more\x1b\[0m\.", shown)


def test_what_changed_has_signs_where_there_are_no_colours() -> None:
    before, after = said("for an hour", DAY), said("for a day\x1b", 2 * DAY)
    assert compared(before, after, False, True).plain == "for [-an-]{+a+} [-hour-]{+day\ufffd+}"
    assert compared(None, after, False, True).plain == "for a day\ufffd"


def test_texts_cannot_abuse_a_terminal(tmp_path: Path, terminal: Callable, here: Callable) -> None:
    with Store.create(tmp_path / "kb.db") as store:
        write(store, 1, "A\x1b[2J [bold]title[/]", [said("one\x1b]0;x\x07", DAY), said("two\u202e\x1b[31m", 2 * DAY)])
    db = str(tmp_path / "kb.db")
    for shown in (terminal("timeline", "--db", db, "rec_0")[1], here("timeline", "--db", db, "rec_0").out.decode()):
        assert "A\ufffd[2J [bold]title[/]" in shown
        assert not re.search("\x1b(?!\\[[0-9;]*m)|\x07|\u202e", shown)


def test_a_narrow_terminal_is_wrapped_behind_the_line(tmp_path: Path, terminal: Callable) -> None:
    with Store.create(tmp_path / "kb.db") as store:
        write(store, 1, "Token", [said("A token lives " * 20, DAY)])
    _, shown = terminal("timeline", "--db", str(tmp_path / "kb.db"), "rec_0", columns=40)
    lines = re.sub(r"\x1b\[[0-9;]*m", "", shown).splitlines()
    assert max(map(len, lines)) <= 40
    assert all(line == line.rstrip() for line in lines)
    assert all(line.startswith("│") for line in lines[4:])


def test_what_stayed_far_from_a_change_is_cut() -> None:
    long = "w" * (3 * AROUND)
    every = [
        Change("kept", long),
        Change("removed", "a"),
        Change("kept", long),
        Change("added", "b"),
        Change("kept", long),
    ]
    cut = "w" * AROUND
    assert [change.text for change in shortened(every)] == [f"…{cut}", "a", f"{cut} … {cut}", "b", f"{cut}…"]


@pytest.mark.parametrize(
    ("arguments", "status", "sentence"),
    [(["rec_7"], 1, "no record whose id begins with 'rec_7'"), (["rec_"], 1, "give more of it"), ([], 2, "id")],
)
def test_an_id_that_is_none(db: str, here: Callable, arguments: list[str], status: int, sentence: str) -> None:
    done = here("timeline", "--db", db, *arguments)
    assert (done.status, sentence in done.err.decode().casefold()) == (status, True)


def test_no_store(tmp_path: Path, here: Callable) -> None:
    done = here("timeline", "--db", str(tmp_path / "none.db"), "rec_0")
    assert (done.status, b"run `bankml init`" in done.err) == (1, True)
