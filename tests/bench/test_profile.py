"""`make profile`: the stages add up to the threads' time, and the table says what was measured."""

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

from bench import cases, profile, results
from bench.profile import Shape
from oracle import seeded

built = pytest.mark.skipif(not profile.PROGRAM.exists(), reason="needs build/profile: make build/profile/.built")
STAGES = ("tokenizer", "gather", "norm", "rows", "panels", "tiles", "finish", "attention", "pooling")


def call(seconds: float, ticks: int, other: int, tiles: int) -> dict[str, Any]:
    return {"seconds": seconds, "ticks": ticks, "marks": 1, "stages": {"other": other, "tiles": tiles}}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("profile") / "model.gguf"
    return seeded.tiny(path, hidden=256, heads=8, ffn=1024, types={"ffn_up": "Q8_0"})


@built
@pytest.mark.parametrize("threads", [1, 2])
def test_the_stages_of_a_long_text_are_all_its_time(model: Path, threads: int) -> None:
    found = profile.summed(profile.measure(model, Shape(1, 512), "", threads, 0.5))
    assert found["tokens"] == 512
    assert sum(found["stages"].values()) == pytest.approx(1, abs=0.01)
    assert found["stages"]["other"] < 0.03  # 0.002 on a machine that is not busy
    assert found["marks"] < 0.03  # 0.003
    assert all(found["stages"][name] > 0 for name in STAGES)


@built
def test_a_thread_that_has_nothing_to_do_waits(model: Path) -> None:
    alone, both = (profile.summed(profile.measure(model, Shape(1, 4), "", n, 0.2))["stages"] for n in (1, 2))
    assert both["wait"] > 10 * alone["wait"]  # 0.10 and 0.002: four rows are one tile, so one thread is often idle


@built
def test_the_backend_is_the_one_asked_for(model: Path) -> None:
    found = profile.measure(model, Shape(2, 8), "scalar", 1, 0)
    assert (found["backend"], found["texts"], found["tokens"], len(found["calls"])) == ("scalar", 2, 16, 3)


@built
def test_the_programs_words_are_told(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"bankml_profile failed: .*nothing\.gguf"):
        profile.measure(tmp_path / "nothing.gguf", Shape(1, 8), "", 1, 0)


def test_a_program_that_was_not_built_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(profile, "PROGRAM", tmp_path / "bankml_profile")
    with pytest.raises(RuntimeError, match="run: make profile"):
        profile.measure(tmp_path, Shape(1, 8), "", 1, 0)


def test_the_slower_half_does_not_count() -> None:
    calls = [call(0.9, 900, 800, 1000), call(0.1, 100, 20, 180), call(0.3, 300, 60, 540)]
    found = profile.summed({"backend": "b", "threads": 2, "tokens": 8, "ticks_of_a_mark": 4.0, "calls": calls})
    assert found["seconds"] == pytest.approx(0.2)
    assert found["stages"] == {"other": pytest.approx(0.1), "tiles": pytest.approx(0.9)}
    assert found["marks"] == pytest.approx(2 * 4 / 800)


def test_the_table_has_a_column_for_each_stage() -> None:
    about = {"model": "m", "case": "1 x 12", "backend": "avx2", "threads": 2, "seconds": 0.00125, "marks": 0.004}
    rows = profile.table([{**about, "stages": {"other": 0.011, "tiles": 0.9, "wait": 0.089}}]).splitlines()
    assert rows[0] == "| model | texts x tokens | backend | threads | a call | tiles | wait | no stage | clocks |"
    assert rows[2] == "| m | 1 x 12 | avx2 | 2 | 1.25 ms | 90.0 % | 8.9 % | 1.1 % | 0.4 % |"


@pytest.mark.parametrize("text", ["64", "0x12", "1x", "1x2x3", "ax2", "1x-2", "1x²"])
def test_a_shape_that_is_none(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=text):
        Shape.read(text)


def test_texts_differ_and_are_long_enough() -> None:
    lines = Shape.read("64x32").lines().splitlines()
    assert len(set(lines)) == 64
    assert {len(line.split()) for line in lines} == {32}
    assert [len(line.split()) for line in Shape(1, 8192).lines().splitlines()] == [8192]


@pytest.mark.parametrize(
    ("arguments", "models"),
    [
        ([], {cases.MINILM: "1x12 64x32 1x512"}),
        (
            ["--bge"],
            {cases.MINILM: "1x12 64x32 1x512", cases.BGE_M3: "1x15 1x512", cases.BGE_M3_Q8_0: "1x15 1x512"},
        ),
        (["--texts", "2x3"], {cases.MINILM: "2x3"}),
    ],
)
def test_what_is_measured(arguments: list[str], models: dict[cases.Model, str]) -> None:
    shapes = {model: [Shape.read(one) for one in texts.split()] for model, texts in models.items()}
    assert profile.chosen(profile.read_options(arguments)) == shapes


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    options = profile.read_options(["--model", str(tmp_path / "a.gguf"), "--texts", "1x8", "--threads", "1"])
    [(model, shapes)] = profile.chosen(options).items()
    assert (model.name, model.path(), shapes, options.threads) == ("a.gguf", tmp_path / "a.gguf", [Shape(1, 8)], [1])


@built
def test_the_json_is_printed_and_kept(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    profile.main(["--model", str(model), "--texts", "1x8", "2x8", "--threads", "1", "--seconds", "0", "--json"])
    run = json.loads(capsys.readouterr().out)
    assert [one["case"] for one in run["profiles"]] == ["1 x 8", "2 x 8"]
    assert [json.loads(file.read_text()) for file in tmp_path.iterdir()] == [run]
