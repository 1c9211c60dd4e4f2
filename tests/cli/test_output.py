"""Names and texts from files, as they reach a terminal, a pipe and a program."""

import os
import unicodedata
from pathlib import Path

import pytest

from bankml.settings import Settings
from tests.raw_gguf import string, valid

TITLE = "\x1b]0;owned\x07"  # would name the terminal's window
ODD = f"a{TITLE}\x9b31m\u202egnp.\u200b\n"
SEEN = "a\ufffd]0;owned\ufffd\ufffd31m\ufffdgnp.\ufffd\ufffd"
MARKUP = ["m[f16]", "a[red]", "a [", "b]", "[bold]x", "[link=http:x]y", ":smile:"]


@pytest.fixture
def own() -> Path:
    """bankml's folder of models."""
    Settings.read().models.mkdir(parents=True)
    return Settings.read().models


def hostile(path: Path) -> Path:
    model = valid("wordpiece")
    model.more_keys.append(("note", string(ODD)))
    model.more_keys.append((f"key{TITLE}", string("value")))
    path.write_bytes(model.bytes())
    return path


def controls(text: str) -> set[str]:
    return {character for character in text if unicodedata.category(character) in ("Cc", "Cf")} - set("\r\n\t")


def test_names_are_no_markup(terminal, own: Path) -> None:
    for name in MARKUP:
        (own / f"{name}.gguf").write_bytes(valid("wordpiece").bytes())
    status, shown = terminal("models")
    assert status == 0, shown
    first = [line.split("  file ")[0].strip() for line in shown.splitlines() if "  file " in line]
    assert sorted(first) == sorted(MARKUP)
    assert "\x1b[31m" not in shown


def test_a_hubs_name_is_no_markup(terminal, here, hub, seeded_gguf: bytes) -> None:
    hub.add("o/r", {"a[/b].gguf": seeded_gguf})
    status, shown = terminal("pull", "hf:o/r/a[/b].gguf")
    assert status == 0, shown
    assert "downloading" in shown
    status, shown = terminal("models")
    assert (status, "Traceback" in shown, "hf:o/r/a[/b].gguf" in shown) == (0, False, True), shown


def test_a_name_in_a_bar_is_no_markup(terminal, minilm_folder: Path, tmp_path: Path) -> None:
    status, shown = terminal("convert", str(minilm_folder), "-o", str(tmp_path / "a.gguf"), "--name", "a [/b]")
    assert status == 0, shown
    assert "a [/b]" in shown


def test_no_control_of_a_file_reaches_a_terminal(terminal, own: Path) -> None:
    path = hostile(own / f"m{TITLE}.gguf")
    for arguments in (["info", str(path)], ["models"], ["embed", "--model", str(path)], ["pull", str(path)]):
        status, shown = terminal(*arguments)
        assert status == 0, shown
        assert "m\ufffd]0;owned\ufffd" in shown, arguments
        assert controls(shown.replace("\x1b[1m", "").replace("\x1b[0m", "")) == set(), arguments


def test_metadata_is_printed_without_controls_and_exact_as_json(here, tmp_path: Path) -> None:
    path = hostile(tmp_path / "m.gguf")
    shown = here("info", str(path)).out.decode()
    assert f" {SEEN}\n" in shown
    assert "key\ufffd]0;owned\ufffd" in shown
    assert controls(shown) == set()
    assert here("info", str(path), "--json").out.lines[0]["metadata"]["note"] == ODD


def test_an_error_holds_no_control(here, tmp_path: Path) -> None:
    path = tmp_path / f"m{TITLE}\u202e.gguf"
    path.write_text("no model, but long enough")
    done = here("info", str(path))
    assert (done.status, done.err.count(b"\n")) == (1, 1)
    assert "m\ufffd]0;owned\ufffd\ufffd.gguf: " in done.err.decode()
    assert controls(done.err.decode()) == set()


def test_a_row_of_a_pipe_is_a_line(here, own: Path) -> None:
    hostile(own / "a\nb\tc.gguf")
    assert b"a\xef\xbf\xbdb\xef\xbf\xbdc\tfile\tyes\t" in here("models").out


def test_a_path_leaves_a_pipe_as_it_is(command, tmp_path: Path) -> None:
    path = hostile(tmp_path / "m\x1b.gguf")
    assert command("pull", str(path)).out == os.fsencode(path) + b"\n"
