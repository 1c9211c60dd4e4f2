"""The table of a run."""

from typing import Any

from bench import report

RUN: dict[str, Any] = {
    "datetime": "2026-11-29T12:00:00",
    "machine_info": {
        "machine": "a machine, 2 CPUs",
        "versions": {"numpy": "2.4"},
        "load_before": 0.1,
        "load_after": [0.2, 0, 0],
        "read_bytes_per_second": {"1": 11.8e9, "2": 20.6e9},
        "f32_operations_per_second": {"avx2": {"1": 94e9, "2": 188e9}},
    },
    "benchmarks": [
        {
            "extra_info": {
                "model": "m",
                "case": "1 x 512",
                "rounds": 7,
                "repeats": 1,
                "settings": {"bankml": "avx2, 2 threads", "llama.cpp": "1 text a pass, 2 threads"},
                "tokens": 512,
                "cosines": {"llama.cpp": 0.99951, "ONNX Runtime int8": 0.9449},
                "seconds": {"bankml": 2.048, "llama.cpp": 2.56, "ONNX Runtime int8": 1.024},
                "operations": 308e9,
                "peak_operations_per_second": 188e9,
                "resident_bytes": {"bankml": 700e6, "llama.cpp": 1300e6, "ONNX Runtime int8": 400e6},
            }
        },
        {"extra_info": {}},  # a case that failed
    ],
}


def test_a_line_for_each_case() -> None:
    lines = report.table(RUN).split("\n")
    assert len(lines) == 3
    peers = "**1.25** (200; 1,300 MB) | **0.50** (500; 400 MB; cosine 0.945)"
    assert lines[2] == f"| m | 1 x 512 | 250 | 80 % | 2.05 s | 700 | {peers} |"


def test_the_summary_says_where_and_how() -> None:
    words = report.summary(RUN)
    for part in ("2026-11-29", "a machine, 2 CPUs", "numpy 2.4", "avx2 94.0 / 188.0", "11.8 / 20.6 GB/s", "load 0.1"):
        assert part in words
    assert "m, 1 x 512: bankml avx2, 2 threads; llama.cpp 1 text a pass, 2 threads; median of 7 rounds of 1" in words


def test_a_machine_without_a_peak_has_no_fraction() -> None:
    found = {**RUN["benchmarks"][0]["extra_info"], "peak_operations_per_second": 0.0}
    assert report._own(found)[3] == "-"
