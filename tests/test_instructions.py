"""The gate on instruction counts: what it calls a change, and what it says where it cannot count."""

import json
import os
from pathlib import Path

import pytest

from tests import check_instructions as gate

BASELINE = {"tokenizer a": 1000, "scalar a": 100_000, "avx2 a": 5000}


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Instead of the program: one that was compiled with something nobody has a baseline for."""
    path = tmp_path / "program"
    path.write_text("#!/bin/sh\necho gcc-99.9\necho a case\n")
    path.chmod(0o755)
    monkeypatch.setattr(gate, "PROGRAM", path)
    return path


@pytest.mark.parametrize(("now", "words"), [(981, None), (1000, None), (1019, None), (1021, "worse"), (979, "better")])
def test_two_percent_either_way_is_a_change(now: int, words: str | None) -> None:
    found = gate.differences(BASELINE, {**BASELINE, "tokenizer a": now})
    assert len(found) == (words is not None)
    assert all(f"tokenizer a: 1,000 -> {now:,} instructions, " in one and words in one for one in found)


def test_fewer_instructions_ask_for_a_new_baseline() -> None:
    assert gate.difference("a", 1000, 500) == [
        "a: 1,000 -> 500 instructions, -50.0 %, better: refresh the baseline, make instructions-baseline"
    ]


def test_a_case_that_is_gone_or_new_is_a_difference() -> None:
    counted = {"scalar a": 100_000, "avx2 a": 5000, "avx2 b": 1}
    assert gate.differences(BASELINE, counted) == [
        "tokenizer a: was not counted; if it was taken out: make instructions-baseline",
        "avx2 b: has no baseline: make instructions-baseline",
    ]


def test_a_backend_that_the_cpu_lacks_is_not_expected() -> None:
    assert gate.expected(BASELINE, "fpu sse2 avx2 fma") == BASELINE
    assert gate.expected(BASELINE, "fpu sse2 avx") == {"tokenizer a": 1000, "scalar a": 100_000}


def test_callgrinds_total_is_read() -> None:
    assert gate.collected("version: 1\nevents: Ir\nsummary: 7\n\n\ntotals: 43596\n") == 43_596
    with pytest.raises(AssertionError, match="no total"):
        gate.collected("version: 1\n")


def test_an_unknown_compiler_is_told_how_to_make_a_baseline(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert gate.compiler() == "gcc-99.9"
    assert gate.check("/nowhere/valgrind") == 0
    assert "no baseline for gcc-99.9; make one on a sound commit: make instructions-baseline" in capsys.readouterr().out


@pytest.mark.parametrize(("arguments", "status"), [([], 0), (["--write"], 1)])
def test_a_machine_without_valgrind_is_told(
    arguments: list[str], status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", os.devnull)
    assert gate.main(arguments) == status
    assert "needs valgrind (package valgrind)" in capsys.readouterr().out


def test_a_count_that_fails_is_told(program: Path) -> None:
    with pytest.raises(SystemExit, match="failed:"):
        gate.count("false")


def test_a_baseline_holds_all_kinds_of_cases() -> None:
    files = list(gate.BASELINES.glob("*.json"))
    assert files
    for file in files:
        counts = json.loads(file.read_text())
        assert {name.split()[0] for name in counts} == {"tokenizer", "scalar", "avx2"}
        assert all(isinstance(count, int) and count > 100 for count in counts.values())
