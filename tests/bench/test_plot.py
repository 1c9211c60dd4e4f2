"""Pictures of a run: the same bytes from the same run, small, and honest about peers that are faster."""

import copy
import re
from pathlib import Path
from typing import Any

import pytest

mpl = pytest.importorskip("matplotlib", reason="needs the packages of `make bench`")

from bench import plot  # noqa: E402
from tests.bench.test_report import CASE, RUN  # noqa: E402


def run(cases: int) -> dict[str, Any]:
    """One model's cases with five peers each, and a second model's one."""
    found = {}
    for index in range(cases):
        model = "m" if index else "another model"
        seconds = {name: 1.0 + position / 2 + index / 50 for position, name in enumerate(plot.COLOURS)}
        seconds["ONNX Runtime int8"] = 0.25
        case = {**copy.deepcopy(CASE), "model": model, "case": f"1 x {index + 1}", "seconds": seconds}
        case["resident_bytes"] = dict.fromkeys(seconds, 5e8)
        case["cosines"] = {**dict.fromkeys(seconds, 0.9999), "ONNX Runtime int8": 0.97}
        found[f"{model} 1 x {index + 1}"] = case
    return {**RUN, "cases": found}


def drawn(of: dict[str, Any], folder: Path) -> dict[str, str]:
    with mpl.rc_context(plot.STYLE):
        for name, draw in plot.pictures(of):
            plot.save(draw(), folder / name)
    return {file.name: file.read_text() for file in sorted(folder.iterdir())}


def test_the_same_run_gives_the_same_bytes_without_a_date(tmp_path: Path) -> None:
    once = drawn(run(3), tmp_path / "once")
    assert once == drawn(run(3), tmp_path / "twice")
    assert list(once) == [f"speed-full-avx2{name}.svg" for name in ("-memory", "-roofline", "")]
    assert not any("<dc:date>" in text or "Matplotlib v" in text for text in once.values())


def test_of_many_cases_each_model_has_its_own_and_all_are_small(tmp_path: Path) -> None:
    found = drawn(run(12), tmp_path)  # 11 of one model, as of bge-m3 in a full run
    names = ["-another-model", "-m", "-memory", "-roofline"]
    assert list(found) == [f"speed-full-avx2{name}.svg" for name in names]
    assert max(len(text.encode()) for text in found.values()) < 60_000


def test_faster_peers_are_below_one_and_other_vectors_are_told(tmp_path: Path) -> None:
    text = drawn(run(1), tmp_path)["speed-full-avx2.svg"]
    assert " 0.25 (cosine 0.970)" in text
    assert "below 1 the peer is faster" in text
    assert len(re.findall("<pattern", text)) == 1  # hatched
    assert "cosine 1.000" not in text


def test_bars_begin_at_zero() -> None:
    with mpl.rc_context(plot.STYLE):
        of = run(2)
        figure = plot.speed(of, list(of["cases"].values()))
    (axes,) = figure.axes
    assert axes.get_xlim()[0] == 0
    assert {bar.get_x() for bar in axes.patches} == {0}


def test_every_colour_is_readable_on_white_and_on_black() -> None:
    for colour in (plot.GREY, *plot.COLOURS.values()):
        channels = [
            value / 12.92 if value <= 0.04 else ((value + 0.055) / 1.055) ** 2.4 for value in mpl.colors.to_rgb(colour)
        ]
        light = sum(part * channel for part, channel in zip((0.2126, 0.7152, 0.0722), channels, strict=True))
        assert 1.05 / (light + 0.05) > 2.2, colour
        assert (light + 0.05) / 0.05 > 4.5, colour


def test_the_machines_ceilings_are_drawn(tmp_path: Path) -> None:
    text = drawn(run(2), tmp_path)["speed-full-avx2-roofline.svg"]
    for words in ("f32: avx2 ", "int8: avx2 vpmaddubsw ", "memory: 21 GB/s"):
        assert words in text
