"""`python -m bench` over real pytest: what is chosen, what is resumed, what a failure leaves."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import bench.__main__ as command
from bench import cases, results, rounds
from bench.cases import Case, Model
from oracle import seeded

ALL = ["one 1 x 5", "one 1 x 9", "two 1 x 5", "two 1 x 9"]
RATES: dict[str, Any] = {"read_bytes_per_second": {"1": 1e9}, "operations_per_second": {}}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where results go. There are two models of a megabyte with two cases each, no peers, and one round."""
    chosen = []
    for name in ("one", "two"):
        path = seeded.tiny(tmp_path / f"{name}.gguf")
        model = Model(name, partial(Path, path), 2, 3, (4, 40), peers=())
        chosen += [Case(model, f"1 x {length}", partial(cases._even, length, 1)) for length in (5, 9)]
    monkeypatch.setattr(cases, "QUICK", tuple(chosen))
    monkeypatch.setattr(cases, "FULL", tuple(chosen))
    monkeypatch.setattr(rounds, "MOST", 1)
    monkeypatch.setattr(rounds, "machine", lambda seen: RATES)
    monkeypatch.setattr(results, "FOLDER", tmp_path / "results")
    return tmp_path / "results"


def run(*arguments: str) -> int:
    return command.main([*arguments, "-p", "no:randomly", "--import-mode=importlib"])


def kept(folder: Path) -> list[list[str]]:
    """The cases of each file, oldest first."""
    return [list(json.loads(file.read_text())["cases"]) for file in sorted(folder.glob("*.json"))]


def test_a_full_run_goes_on_where_it_was_cut_short(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--full", "-k", "one and not start") == 0
    assert kept(folder) == [ALL[:2]]
    assert "going on" not in capsys.readouterr().out
    assert run("--full", "-k", "not start") == 0
    assert kept(folder) == [ALL]
    said = capsys.readouterr().out
    assert "2 of 4 cases are there" in said
    assert "| one | 1 x 5 |" in said
    assert "2 passed" in said


def test_a_case_that_fails_is_lacking_still(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = rounds.measured

    def failing(party: rounds.Party, case: Case, seen: Any) -> dict[str, Any]:
        assert str(case) != ALL[1]
        return whole(party, case, seen)

    with monkeypatch.context() as patch:
        patch.setattr(rounds, "measured", failing)
        assert run("--full", "-k", "not start") == 1
    assert kept(folder) == [[ALL[0], *ALL[2:]]]
    assert run("--full", "-k", "not start") == 0
    assert kept(folder) == [[ALL[0], *ALL[2:], ALL[1]]]


def test_a_whole_run_is_begun_anew(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = folder / "speed-full-20000101-000000.json"
    begun = results.Results.new("speed-full")
    begun.file = file
    begun.run["cases"] = {name: {} for name in ALL}
    begun.save()
    assert run("--full", "-k", "one and 5 and not start") == 0
    assert "beginning a new run" in capsys.readouterr().out
    assert kept(folder) == [ALL, ALL[:1]]


def test_a_quick_run_begins_anew_unless_asked(folder: Path) -> None:
    assert run("-k", "one and 5 and not start") == 0
    (first,) = folder.glob("*.json")
    first.rename(folder / "speed-20000101-000000.json")
    assert run("-k", "one and 9 and not start") == 0
    assert kept(folder) == [ALL[:1], ALL[1:2]]
    assert run("--resume", "-k", "one and not start") == 0
    assert kept(folder) == [ALL[:1], [ALL[1], ALL[0]]]


def test_a_start_is_kept_with_the_run(folder: Path) -> None:
    assert run("-k", "two and start") == 0
    (file,) = folder.glob("*.json")
    assert 0 < json.loads(file.read_text())["starts"]["two start"]["first_vector"] < 5


def test_a_choice_that_matches_nothing_keeps_nothing(folder: Path) -> None:
    assert run("-k", "no_such_case") == pytest.ExitCode.NO_TESTS_COLLECTED
    assert not folder.exists()


def test_a_cpu_that_cannot_be_shown_is_one_sentence(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(seen: str) -> None:
        raise RuntimeError("this CPU cannot")

    monkeypatch.setattr(command.cpu, "check", refuse)
    assert run("--cpu", "avx2") == 1
    assert capsys.readouterr().err == "bench: this CPU cannot\n"
