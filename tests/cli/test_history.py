"""`bankml history`."""

import json
import re
from pathlib import Path

import pytest

QUESTION = "How fast is the ternary model on this laptop?"


@pytest.fixture
def nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No model, no Ollama."""
    monkeypatch.setenv("BANKML_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("OLLAMA_MODELS", str(tmp_path / "models"))


def test_from_nothing_to_fused_results(command, sample, minilm):
    model = str(minilm)
    done = command("history", "index", str(sample), "--model", model, "--json")
    assert done.out.lines == [{"embedded": 24, "cached": 0, "total": 24, "skipped_lines": 0}]
    done = command("history", "search", str(sample), QUESTION, "-n", "3", "--model", model, "--json")
    (answer,) = done.out.lines
    assert "Q2_0 decode" in answer["results"][0]["assistant"]
    assert set(answer["results"][0]) >= {"id", "user", "assistant", "score", "cosine", "words_rank", "meaning_rank"}
    assert re.fullmatch(
        r"3 of 24 exchanges · BM25 \(built in\) \+ \S+ \(meaning, 24 of 24 embedded\), fused by reciprocal rank",
        answer["status"],
    )
    (found,) = command("history", "status", str(sample), "--model", model, "--json").out.lines
    assert (found["embedded"], found["cached"], found["total"], found["skipped_lines"]) == (24, 24, 24, 0)


def test_a_search_embeds_what_is_missing_first(here, sample, minilm):
    (answer,) = here("history", "search", str(sample), QUESTION, "--model", str(minilm), "--json").out.lines
    assert "24 of 24 embedded" in answer["status"]
    assert sample.with_name("sample.history.emb").exists()


def test_by_words_alone_nothing_is_written(here, sample, tmp_path):
    (answer,) = here("history", "search", str(sample), "greenhouse heater", "--words", "--json").out.lines
    assert "heater" in answer["results"][0]["assistant"]
    assert "BM25 (built in) alone: as asked" in answer["status"]
    assert [path.name for path in tmp_path.iterdir()] == ["sample.history"]


def test_without_a_model_words_answer_and_it_is_said(here, sample, nothing):
    done = here("history", "search", str(sample), "greenhouse heater", "--json")
    (answer,) = done.out.lines
    assert done.status == 0
    assert "heater" in answer["results"][0]["assistant"]
    assert "bankml pull all-minilm-l6-v2" in answer["status"]
    (found,) = here("history", "status", str(sample), "--json").out.lines
    assert (found["embedded"], found["total"], found["model"]) == (0, 24, None)


def test_for_people(here, sample):
    out = here("history", "search", str(sample), "greenhouse heater", "--words", "-n", "1").out.decode()
    hit, status = out.splitlines()
    assert hit.split("\t")[:4] == ["8", "0.016393", "", "1"]
    assert status.startswith("# 1 of 24 exchanges")


def test_on_a_terminal_nothing_of_a_history_steers_it(terminal, tmp_path):
    path = tmp_path / "hostile.history"
    said = "\x1b[31mred\x1b]0;title\x07 \u202eright to left [bold]markup[/bold] heater"
    path.write_text(json.dumps({"user": "heater", "assistant": said}) + "\n")
    status, shown = terminal("history", "search", str(path), "heater", "--words")
    assert status == 0
    assert "[bold]markup[/bold]" in shown
    assert "\x1b[31m" not in shown
    assert "\x1b]0" not in shown
    assert "\u202e" not in shown


def test_the_latest_without_a_query(here, sample):
    (answer,) = here("history", "search", str(sample), "--words", "-n", "2", "--json").out.lines
    assert [hit["id"] for hit in answer["results"]] == [23, 22]


def test_compact_drops_what_is_not_needed(here, sample, minilm):
    model = ("--model", str(minilm))
    here("history", "index", str(sample), *model)
    sample.write_text("".join(sample.read_text().splitlines(keepends=True)[:10]))
    (done,) = here("history", "compact", str(sample), *model, "--json").out.lines
    assert (done["kept"], done["unwanted"]) == (10, 14)
    assert len(sample.with_name("sample.history.emb").read_text().splitlines()) == 10


@pytest.mark.parametrize("subcommand", ["search", "index", "status", "compact"])
def test_a_history_that_is_not_there(here, minilm, tmp_path, subcommand):
    path = str(tmp_path / "none.history")
    done = here("history", subcommand, path, "--model", str(minilm), "--json")
    assert done.status == 1
    assert "does not exist; give the path of a .history file" in done.out.lines[0]["error"]


def test_bad_lines_are_counted_and_shown(here, minilm, sample):
    with sample.open("ab") as file:
        file.write(b'{"user": "torn\n\xff\xfe\n')
    done = here("history", "index", str(sample), "--model", str(minilm), "--json")
    assert done.out.lines[0]["skipped_lines"] == 2
    (answer,) = here("history", "search", str(sample), "x", "--words", "--json").out.lines
    assert "2 lines that are no exchange left out" in answer["status"]


def test_a_search_chooses_its_model_once_and_without_a_query_never_uses_it(here, sample, minilm, monkeypatch):
    from bankml.embedders import NativeEmbedder

    made = []
    whole = NativeEmbedder.__init__
    monkeypatch.setattr(NativeEmbedder, "__init__", lambda self, *a, **o: (made.append(self), whole(self, *a, **o))[1])
    here("history", "search", str(sample), "--model", str(minilm))
    assert not sample.with_name("sample.history.emb").exists()
    made.clear()
    here("history", "search", str(sample), "backup", "--model", str(minilm))
    assert len(made) == 1


def test_a_cache_that_cannot_be_written_leaves_words(here, sample, minilm, tmp_path):
    sample.with_name("sample.history.emb").mkdir()
    done = here("history", "search", str(sample), "greenhouse heater", "--model", str(minilm), "--json")
    assert done.status == 0
    assert "heater" in done.out.lines[0]["results"][0]["assistant"]
    assert "is a folder" in done.out.lines[0]["status"]
    assert b"not all is embedded" in done.err


def test_a_model_that_is_named_and_not_there_is_an_error(here, sample):
    for subcommand in ("search", "status", "index", "compact"):
        done = here("history", subcommand, str(sample), "--model", "no-such-model", "--json")
        assert done.status == 1
        assert "no-such-model" in done.out.lines[0]["error"]


def test_a_file_that_is_missing_is_told_before_a_model_is_pulled_for_it(here, nothing, tmp_path):
    done = here("history", "index", str(tmp_path / "missing.history"))
    assert done.status == 1
    assert b"does not exist" in done.err
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize("path", [".", "/", ""])
def test_a_path_without_a_name_is_a_folder(here, minilm, path):
    for subcommand in ("search", "index", "status", "compact"):
        done = here("history", subcommand, path, "--model", str(minilm), "--json")
        assert done.status == 1
        assert "is a folder" in done.out.lines[0]["error"]


def test_joiners_stay_and_marks_that_turn_text_do_not(here, tmp_path):
    path = tmp_path / "joined.history"
    path.write_text(json.dumps({"user": "\u062e\u0627\u0646\u0647\u200c\u06cc", "assistant": "\u202e heater"}) + "\n")
    out = here("history", "search", str(path), "heater", "--words").out.decode()
    assert "\u200c" in out
    assert "\u202e" not in out


def test_a_search_embeds_no_longer_than_it_was_told_to(here, minilm, tmp_path):
    path = tmp_path / "many.history"
    path.write_text("".join(json.dumps({"user": f"n {n}", "assistant": "word " * 300}) + "\n" for n in range(3000)))
    done = here("history", "search", str(path), "word", "--model", str(minilm), "--wait", "0.001", "-n", "1", "--json")
    assert done.out.lines[0]["results"]
    assert b"bankml history index" in done.err
