"""The tables of a run."""

from typing import Any

from bench import report

CASE: dict[str, Any] = {
    "model": "m",
    "case": "1 x 512",
    "texts": 1,
    "rounds": 7,
    "round_seconds": 6.0,
    "repeats": 1,
    "settings": {"bankml": "avx2, 2 threads", "llama.cpp": "1 text a pass, 2 threads"},
    "missing": {"OpenVINO f32": "not installed"},
    "tokens": 512,
    "cosines": {"llama.cpp": 0.99951, "ONNX Runtime int8": 0.9449},
    "seconds": {"bankml": 2.048, "bankml, 1 thread": 3.8912, "llama.cpp": 2.56, "ONNX Runtime int8": 1.024},
    "operations": 308e9,
    "layer_bytes": 604e6,
    "peaks": {"f32": 188e9, "int8": 400e9, "f32, 1 thread": 94e9},
    "resident_bytes": {"bankml": 700e6, "llama.cpp": 1300e6, "ONNX Runtime int8": 400e6},
}
RUN: dict[str, Any] = {
    "datetime": "2026-11-29T12:00:00",
    "part": "speed-full-avx2",
    "key": {"machine": "a machine, 2 CPUs", "versions": {"numpy": "2.4"}, "sources": "abc1234"},
    "machine_info": {
        "load_before": 0.1,
        "load_after": 0.2,
        "read_bytes_per_second": {"1": 11.8e9, "2": 20.6e9},
        "operations_per_second": {
            "avx2": {"kind": "f32", "1": 94e9, "2": 188e9},
            "avx2 vpmaddubsw": {"kind": "int8", "1": 200e9, "2": 400e9},
        },
    },
    "cases": {"m 1 x 512": CASE},
    "starts": {},
}


def test_a_line_for_each_case() -> None:
    lines = report.table(RUN).split("\n")
    assert len(lines) == 3
    peers = "**1.25** (200; 1,300 MB) | **0.50** (500; 400 MB; cosine 0.945)"
    assert lines[2] == f"| m | 1 x 512 | 250 | 80 % | 2.05 s | 700 | {peers} |"


def test_a_peer_that_is_missing_is_a_dash_and_says_why() -> None:
    other = {**CASE, "seconds": {"bankml": 1.0, "OpenVINO f32": 2.0}, "resident_bytes": {**CASE["resident_bytes"]}}
    other["resident_bytes"]["OpenVINO f32"] = 5e8
    run = {**RUN, "cases": {"m 1 x 512": CASE, "m 1 x 2": other}}
    first, second = report.table(run).split("\n")[2:]
    assert first.endswith("| - |")
    assert second.endswith("| - | - | **2.00** (256; 500 MB) |")
    assert "median of 7 rounds of 1; OpenVINO f32: not installed" in report.summary(run)


def test_the_summary_says_where_and_how() -> None:
    words = report.summary(RUN)
    for part in (
        "2026-11-29",
        "a machine, 2 CPUs",
        "engine abc1234",
        "numpy 2.4",
        "a CPU with AVX2 and FMA and nothing wider",
        "f32: avx2 94.0 / 188.0 G operations/s; int8: avx2 vpmaddubsw 200.0 / 400.0 G operations/s",
        "11.8 / 20.6 GB/s",
        "load 0.1 before, 0.2 after",
        "bankml 1.90 times as fast, the f32 loop 2.00 times; 95 % of it",
        "m, 1 x 512: bankml avx2, 2 threads; llama.cpp 1 text a pass, 2 threads; median of 7 rounds of 1",
    ):
        assert part in words


def test_long_rounds_are_told() -> None:
    assert "one round (a round takes 380 s)" in report._settings({**CASE, "rounds": 1, "round_seconds": 380.0})
    assert "rounds of 1 (a round takes 70 s)" in report._settings({**CASE, "rounds": 3, "round_seconds": 70.0})


def test_the_size_of_a_corpus_is_told() -> None:
    assert report._own({**CASE, "case": "mixed", "texts": 22})[1] == "mixed: 22 texts, 512 tokens"


def test_a_mixed_corpus_is_told_beside_equal_lengths() -> None:
    mixed = {**CASE, "case": "mixed", "tokens": 4000, "seconds": {**CASE["seconds"], "bankml": 10.0}}
    equal = {**mixed, "case": "equal lengths", "seconds": {**CASE["seconds"], "bankml": 8.0}}
    words = report.summary({**RUN, "cases": {"m mixed": mixed, "m equal lengths": equal}})
    assert "bankml's tokens/s of a mixed corpus ÷ those of equal lengths: m 0.80." in words
    assert "mixed corpus" not in report.summary({**RUN, "cases": {"m mixed": mixed}})


def test_a_machine_without_a_peak_has_no_fraction() -> None:
    assert report._own({**CASE, "peaks": {}})[3] == "-"
