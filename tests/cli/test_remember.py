"""`bankml remember` and `decide` as they are typed."""

import io
import sys

import pytest

import bankml
from bankml.cli.remember import LONGEST
from bankml.memory.draft import CONTENT
from bankml.settings import Settings
from bankml.store import Bound, Store, assertions, config, place, records
from tests.library.whole import count


def store() -> Store:
    return Store.open(place(None, Settings.read()))


def record(record_id: str):
    with store() as kb, kb.reading() as db:
        return records.find(db, record_id)


@pytest.fixture
def within(tmp_path, monkeypatch):
    """A repository to be in."""
    folder = tmp_path / "repository"
    (folder / "src").mkdir(parents=True)
    (folder / ".git").mkdir()
    for name in ("a.py", "b.py", "c,d.py"):
        (folder / "src" / name).write_text(name)
    monkeypatch.chdir(folder / "src")
    return folder


def test_the_first_write_makes_the_store_and_embeds_with_the_model_that_is_here(here, stocked_home):
    done = here("remember", "Sessions expire", "A token lives for an hour.", "--json")
    assert (done.status, done.err) == (0, b"")
    (found,) = done.out.lines
    assert {"existing": False, "passages": 1, "embedded": 1, "clipped": 0, "status": ""}.items() <= found.items()
    assert record(found["id"]).content == "A token lives for an hour."
    with store() as kb, kb.reading() as db:
        assert Bound.read(db).model_name == "all-MiniLM-L6-v2"
    again = here("remember", "Sessions expire", "A token lives for an hour.")
    assert again.out == f"{found['id']} is there already\n".encode()


def test_without_a_model_nothing_is_downloaded_and_the_name_is_promised(here):
    done = here("remember", "Sessions expire", "A token lives for an hour.")
    assert done.status == 0
    assert done.out.startswith(b"rec_")
    assert b"found by words alone until it is embedded: " in done.err
    assert not Settings.read().models.exists()
    with store() as kb, kb.reading() as db:
        assert (config.get(db, "model_name"), Bound.read(db)) == ("all-MiniLM-L6-v2", None)
        assert db.execute("SELECT count(*) FROM chunks_fts WHERE chunks_fts MATCH 'token'").fetchone() == (1,)


@pytest.mark.parametrize("model", ["nonsense", "/nowhere/model.gguf", "bge-small-en-v1.5"])
def test_a_model_that_cannot_be_had_stops_no_write(here, monkeypatch, model):
    monkeypatch.setenv("BANKML_EMBED_MODEL", model)
    done = here("remember", "a", "b", "--json")
    assert done.status == 0
    assert (done.out.lines[0]["embedded"], done.out.lines[0]["status"] != "") == (0, True)


def test_embedding_is_left_out_where_that_is_wanted(here, stocked_home, monkeypatch):
    monkeypatch.setenv("BANKML_DISABLE_WRITE_EMBEDDING", "1")
    done = here("decide", "Sessions expire", "A token lives for an hour.", "--json")
    assert done.out.lines[0]["embedded"] == 0
    assert done.out.lines[0]["status"].startswith("BANKML_DISABLE_WRITE_EMBEDDING is set")
    monkeypatch.delenv("BANKML_DISABLE_WRITE_EMBEDDING")
    assert b"`bankml reindex --missing`: 1 chunks have no vector" in here("status").out
    assert here("reindex", "--missing").out == b"1 of 1 chunks embedded with all-MiniLM-L6-v2 (384 dimensions)\n"
    again = here("decide", "Sessions expire", "A token lives for an hour.", "--json")
    assert (again.out.lines[0]["existing"], again.out.lines[0]["embedded"]) == (True, 1)


def test_all_that_can_be_given_is_kept(here, within):
    old = here("remember", "Old", "It was so.", "--session", "s1", "--json").out.lines[0]["id"]
    options = ["--tags", "auth, ttl", "--tags", "http", "--paths", "a.py,../.git", "--paths", "c,d.py"]
    options += ["--reasoning", "shorter annoys", "--confidence", "0.5", "--supersedes", old]
    options += ["--session", "s1", "--valid-from", "2026-01-01T00:00:00Z", "--agent", "a test"]
    done = here("decide", "Sessions expire", "A token lives for an hour.", *options, "--json").out.lines[0]
    assert done["superseded"] == [old]
    found = record(done["id"])
    assert (found.category, found.tags, found.reasoning) == ("decision", ("auth", "ttl", "http"), "shorter annoys")
    assert (found.confidence, found.namespace, found.session) == (0.5, "session", "s1")
    assert [file.path for file in found.cited] == [b"src/a.py", b".git/", b"src/c,d.py"]
    assert found.root == bytes(within)
    assert found.provenance == {"by": "bankml decide", "bankml": bankml.__version__, "agent": "a test"}
    with store() as kb, kb.reading() as db:
        assert assertions.of(db, found.id)[0].valid_from == 1_767_225_600_000_000
    plain = here("remember", "--category", "constraint", "--namespace", "global", "t", "c", "--json").out.lines[0]
    assert (record(plain["id"]).category, record(plain["id"]).namespace) == ("constraint", "global")


def test_what_a_record_says_is_revised(here, within):
    first = here("remember", "Sessions expire", "In an hour.", "--paths", "a.py", "--json").out.lines[0]["id"]
    done = here("remember", "--revise", first, "In two hours.", "--confidence", "0.5", "--paths", "b.py")
    assert (done.status, done.out) == (0, f"{first} revised\n".encode())
    found = record(first)
    assert (found.title, found.content, found.confidence) == ("Sessions expire", "In two hours.", 0.5)
    assert [file.path for file in found.cited] == [b"src/b.py"]
    assert here("remember", "--revise", first, "--confidence", "0.25").status == 0
    assert (record(first).content, record(first).confidence) == ("In two hours.", 0.25)
    with store() as kb, kb.reading() as db:
        assert [each.content for each in assertions.of(db, first)] == ["In an hour.", *["In two hours."] * 2]
    again = here("remember", "--revise", first, "In two hours.")
    assert again.out == f"{first} is there already\n".encode()
    two = here("remember", "--revise", first, "A title", "A content")
    assert (two.status, b"a record keeps its title" in two.err) == (1, True)
    other = here("remember", "--revise", first, "x", "--tags", "a")
    assert b"--tags cannot be given with --revise" in other.err


@pytest.fixture
def piped(here, monkeypatch):
    """Runs the command with this on its standard input."""

    def run(text, *arguments):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
        return here(*arguments)

    return run


def test_a_content_comes_from_standard_input(piped):
    text = "Ein Satz über Größe.\n" * 3
    done = piped(text.encode() + b"\xff\n\n", "remember", "Sizes", "-", "--json")
    assert done.status == 0
    assert record(done.out.lines[0]["id"]).content == text + "\ufffd"
    revised = piped(b"Another.", "remember", "--revise", done.out.lines[0]["id"], "-")
    assert (revised.status, record(done.out.lines[0]["id"]).content) == (0, "Another.")


def test_a_content_from_standard_input_is_there_and_not_too_long(here, piped, monkeypatch):
    empty = piped(b"", "remember", "Nothing", "-", "--json")
    assert (empty.status, empty.out.lines[0]["error"]) == (1, "the content is '': it must say something")
    long = piped(b"x" * (LONGEST + 1), "remember", "Long", "-")
    assert (long.status, b"stdin has more than 4 MiB" in long.err) == (1, True)
    megabyte = piped(b"x" * (CONTENT + 1), "remember", "Long", "-")
    assert b"the content has 1,048,577 characters, more than 1,048,576: shorten it" in megabyte.err
    monkeypatch.setattr(sys, "stdin", None)
    assert b"stdin is closed" in here("remember", "Closed", "-").err


@pytest.mark.parametrize(
    ("arguments", "status", "sentence"),
    [
        (["remember", "a"], 2, "give a title and a content"),
        (["remember"], 2, "give a title and a content"),
        (["decide", "a"], 2, "content"),
        (["remember", "", "b"], 1, "the title is ''"),
        (["remember", "a", "b", "--confidence", "7"], 1, "the confidence is 7.0: give a number from 0 to 1"),
        (["remember", "a", "b", "--confidence", "much"], 2, "--confidence"),
        (["remember", "a", "b", "--category", "opinion"], 1, "the category is 'opinion'"),
        (["remember", "a", "b", "--namespace", "world"], 1, "the namespace is 'world'"),
        (["remember", "a", "b", "--supersedes", "rec_1"], 1, "there is no record rec_1"),
        (["remember", "a", "b", "--valid-from", "yesterday"], 1, "--valid-from is 'yesterday'"),
        (["remember", "a", "b", "--paths", "/etc/passwd"], 1, "is outside of"),
        (["remember", "a", "b", "--paths", "symbol://x"], 1, "is an address"),
    ],
)
def test_what_is_wrong_is_one_sentence_and_writes_nothing(here, within, arguments, status, sentence):
    done = here(*arguments)
    assert done.status == status
    assert sentence in done.err.decode()
    assert len(done.err.splitlines()) == 1
    done = here(*arguments, "--json")
    assert (done.status, sentence in done.out.lines[0]["error"], done.err) == (status, True, b"")
    if place(None, Settings.read()).exists():
        with store() as kb:
            assert count(kb, "records") == 0


def test_hostile_text_is_stored_as_given_and_shown_harmlessly(here, within):
    hostile = "\x1b]0;owned\x07\x1b[2J"
    name = "\x1b[31mred.py"
    done = here("remember", hostile, hostile, "--paths", name, "--json").out.lines[0]
    assert (record(done["id"]).title, record(done["id"]).content) == (hostile, hostile)
    shown = here("remember", "other", hostile, "--paths", name)
    assert "\ufffd[31mred.py cannot be read as a file" in shown.err.decode()
    assert b"\x1b" not in shown.err + shown.out
    wrong = here("remember", "a", "b", "--category", hostile)
    assert b"\x1b" not in wrong.err


def test_a_quote_from_the_last_third_of_a_long_record_finds_it(here, stocked_home):
    parts = [f"Step {n}: the operator checks valve {n * 7 % 31} and notes pressure {n * 13}." for n in range(60)]
    quote = "Finally the violet lamp above the seventh gate is switched off by hand."
    parts.insert(55, quote)
    long = here("remember", "Shutting down", " ".join(parts), "--json").out.lines[0]
    assert long["passages"] > 3
    for n in range(4):
        here("remember", f"Ship {n}", f"The ship {n} is moored at quay {n} and leaves with the tide.")
    found = here("query", quote, "--json").out.lines[0]["results"]
    assert found[0]["id"] == long["id"]
