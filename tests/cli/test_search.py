"""`bankml search` as people and scripts use it."""

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from shutil import copy

import pytest

from bankml.embedders import choose
from bankml.library.search import approximate
from bankml.library.search.searcher import Searcher
from bankml.store import Store
from tests.library.shelf import embedded, put

TEXTS = {
    "/n/boot.md": ["The boot loader starts the kernel.", "GRUB shows a menu before that."],
    "/n/food.md": ["Apples and pears are fruit.", "Bread is baked from flour in an oven."],
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the first test leaves the knowledge base of all."""
    return tmp_path_factory.mktemp("made") / "kb.db"


@pytest.fixture
def db(tmp_path: Path, stocked_home: Path, made: Path) -> str:
    if not made.exists():
        with Store.create(made) as store:
            embedder = choose(name="all-MiniLM-L6-v2")
            embedded(store, embedder, TEXTS)
            embedder.close()
    return str(copy(made, tmp_path / "my kb.db"))


def test_json_is_what_scripts_rely_on(db: str, here: Callable) -> None:
    done = here("search", "--db", db, "--json", "-n", "2", "who", "makes", "bread?")
    assert (done.status, done.err) == (0, b"")
    (answer,) = done.out.lines
    assert set(answer) == {"results", "status"}
    first = answer["results"][0]
    promised = {"id", "path", "heading", "text", "line", "page", "score", "cosine", "words_rank", "meaning_rank"}
    assert promised <= set(first)
    assert (first["path"], first["line"], first["page"], first["meaning_rank"]) == ("/n/food.md", 2, None, 1)
    assert first["snippet"] == {"text": "Bread is baked from flour in an oven.", "spans": [[0, 5]]}
    assert answer["status"].startswith("2 of 4 passages · BM25 (FTS5) + all-MiniLM-L6-v2 (meaning, 4 of 4 embedded)")


def test_lines_for_other_programs(db: str, here: Callable) -> None:
    done = here("search", "--db", db, "--mode", "words", "kernel")
    *lines, status = done.out.decode().splitlines()
    assert [line.split("\t") for line in lines] == [
        ["1", "/n/boot.md:1", "", "", "1", "", "The boot loader starts the kernel."]
    ]
    assert status == "# 1 of 4 passages · BM25 (FTS5) alone, as asked"


def test_nothing_found_is_no_failure(db: str, here: Callable) -> None:
    done = here("search", "--db", db, "--json", "--path", "nowhere/**", "kernel")
    (answer,) = done.out.lines
    assert (done.status, answer["results"]) == (0, [])
    assert answer["status"].endswith("0 passages pass the filters")


def test_explained(db: str, here: Callable) -> None:
    shown = here("search", "--db", db, "--explain", "the kernel").out.decode()
    for part in ("# terms: the 1, kernel 1", "# alpha: 0.", "# fingerprint: ", "# words_ms: ", "# meaning_ms: "):
        assert part in shown
    (answer,) = here("search", "--db", db, "--explain", "--json", "the kernel").out.lines
    assert answer["explained"]["terms"] == {"kernel": 1, "the": 1}


def test_the_query_may_look_like_an_option(db: str, here: Callable) -> None:
    assert here("search", "--db", db, "--mode", "words", "--", "--kernel").status == 0


def test_another_model_is_refused(db: str, here: Callable) -> None:
    done = here("search", "--db", db, "--model", "e5-small", "--json", "kernel")
    assert done.status == 1
    (answer,) = done.out.lines
    assert answer["error"].startswith("Model mismatch: DB uses 'all-MiniLM-L6-v2' (384 dim)")


def test_without_the_model_words_answer(db: str, here: Callable, stocked_home: Path) -> None:
    for file in (stocked_home / "models").iterdir():
        file.unlink()
    done = here("search", "--db", db, "--json", "kernel")
    (answer,) = done.out.lines
    assert (done.status, len(answer["results"])) == (0, 1)
    assert "BM25 (FTS5) alone: " in answer["status"]


@pytest.mark.parametrize(
    ("arguments", "status", "sentence"),
    [
        (["--after", "soon", "kernel"], 1, "give a date such as"),
        (["--mode", "best", "kernel"], 2, "best"),
        (["--model", "", "kernel"], 1, "--model is ''"),
        (["--mode", "words", "--model", " ", "kernel"], 1, "--model is ' '"),
        (["--path", "", "kernel"], 1, "path is ''"),
        (["--type", "", "kernel"], 1, "type is ''"),
        (["-n", "0", "kernel"], 2, "-n"),
        ([], 2, "query"),
    ],
)
def test_what_cannot_be_asked(db: str, here: Callable, arguments: list[str], status: int, sentence: str) -> None:
    done = here("search", "--db", db, *arguments)
    assert (done.status, sentence in done.err.decode()) == (status, True)


def test_no_store(tmp_path: Path, here: Callable) -> None:
    done = here("search", "--db", str(tmp_path / "none.db"), "kernel")
    assert (done.status, b"run `bankml init`" in done.err) == (1, True)
    assert not (tmp_path / "none.db").exists()


def test_paths_and_texts_cannot_abuse_a_terminal(tmp_path: Path, terminal: Callable, here: Callable) -> None:
    with Store.create(tmp_path / "kb.db") as store:
        put(store, os.fsencode("/n/\x1b[31m\n\udcff.txt"), ["kernel\x1b[2J panic"], heading="A\x07 > B")
    status, shown = terminal("search", "--db", str(tmp_path / "kb.db"), "--mode", "words", "kernel")
    assert status == 0
    assert "/n/\ufffd[31m\ufffd\ufffd.txt:1" in shown
    assert "\x1b[2J" not in shown
    assert "\x07" not in shown
    assert "\x1b[1;7mkernel" in shown
    (answer,) = here("search", "--db", str(tmp_path / "kb.db"), "--mode", "words", "--json", "kernel").out.lines
    assert json.dumps(answer)


def test_what_is_the_same_in_many_places_is_shown_once(tmp_path: Path, terminal: Callable, here: Callable) -> None:
    with Store.create(tmp_path / "kb.db") as store:
        put(store, "/n/1.txt", ["All kernel rights reserved."])
        put(store, "/n/2.txt", ["All kernel rights reserved.", "A kernel boots."])
    asked = ("search", "--db", str(tmp_path / "kb.db"), "--mode", "words", "kernel rights")
    (answer,) = here(*asked, "--json").out.lines
    assert [hit["others"] for hit in answer["results"]] == [1, 0]
    assert [(place["path"], place["line"]) for place in answer["results"][0]["also"]] == [("/n/2.txt", 1)]
    status, shown = terminal(*asked)
    assert (status, shown.count("and 1 more place")) == (0, 1)


def test_common_words_are_not_marked_where_there_are_others(tmp_path: Path, here: Callable) -> None:
    with Store.create(tmp_path / "kb.db") as store:
        put(store, "/n/1.txt", [f"A file of number{n}." for n in range(29)] + ["A single thing."])
    asked = ("search", "--db", str(tmp_path / "kb.db"), "--mode", "words", "--json")
    hit = here(*asked, "a single file").out.lines[0]["results"][0]
    assert (hit["snippet"]["text"], hit["snippet"]["spans"]) == ("A single thing.", [[2, 8]])
    hit = here(*asked, "a file").out.lines[0]["results"][0]
    assert hit["snippet"]["spans"] == [[0, 1], [2, 6]]


def test_a_narrow_terminal_is_wrapped_behind_the_indent(tmp_path: Path, terminal: Callable) -> None:
    path = "/n/" + "a folder with a long name/" * 3 + "notes.txt"
    with Store.create(tmp_path / "kb.db") as store:
        put(store, path, ["The kernel " + "is a part of it " * 12], heading="One heading > Another heading > A third")
    asked = ("search", "--db", str(tmp_path / "kb.db"), "--mode", "words", "kernel")
    _, shown = terminal(*asked, columns=60)
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in shown.splitlines()]
    assert max(map(len, lines)) <= 60
    assert all(line == line.rstrip() for line in lines)
    result = lines[: lines.index("")]
    assert result[0].startswith("1  /n/a folder")
    assert len(result) > 5
    assert all(line.startswith("   ") for line in result[1:])


def test_from_a_process_of_its_own(db: str, command: Callable) -> None:
    done = command("search", "--db", db, "--json", "bread")
    assert done.out.lines[0]["results"][0]["path"] == "/n/food.md"


def test_an_index_of_neighbours_is_named_and_not_waited_for(
    db: str, here: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Searcher.__init__, "__defaults__", (2,))
    monkeypatch.setattr(approximate, "make", lambda *_: pytest.fail("it is made"))
    for how in ([], ["--json"]):
        done = here("search", "--db", db, *how, "bread")
        assert done.status == 0
        assert b"`bankml doctor --repair` makes it, in minutes" in done.err


@pytest.mark.parametrize("document", ["99999999999999999999", "0", "-1"])
def test_an_id_that_no_document_has(db: str, here: Callable, document: str) -> None:
    done = here("search", "--db", db, "--document", document, "bread")
    assert (done.status, done.out) == (2, b"")
