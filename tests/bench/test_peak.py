"""The rates that fractions are taken of: of a believable size, and really counted per thread."""

import subprocess
import time
from pathlib import Path

import pytest

from bench import peak

pytestmark = pytest.mark.skipif(not peak.levels(), reason="no peak loops for this architecture")


def test_the_widest_instructions_are_the_fastest() -> None:
    names = [name for name, level in peak.levels().items() if level.kind == "f32"]
    rates = [max(peak.rate(name, 1, 0.005) for _ in range(20)) for name in names]
    assert all(1e9 < rate < 1e12 for rate in rates)
    assert rates[0] > 1.5 * rates[-1]  # AVX2 or AVX-512 against SSE; 2.8 times measured


@pytest.mark.skipif("avx2 vpmaddwd" not in peak.levels(), reason="needs AVX2")
def test_bytes_are_faster_than_words() -> None:
    best = {name: max(peak.rate(name, 1, 0.005) for _ in range(20)) for name in peak.levels()}
    integers = {name: rate for name, rate in best.items() if peak.levels()[name].kind != "f32"}
    assert {peak.levels()[name].kind for name in integers} == {"int8", "int16"}
    assert all(1e9 < rate < 1e13 for rate in integers.values())
    assert max(integers.values()) > 1.1 * integers["avx2 vpmaddwd"]


def test_a_loop_takes_the_time_it_is_given() -> None:
    for threads in (1, 2):
        start = time.perf_counter()
        assert peak.rate("sse", threads, 0.02) > 1e9
        assert 0.02 <= time.perf_counter() - start < 30


def test_memory_is_slower_than_any_cache() -> None:
    assert 1e9 < peak.read_rate(1, rounds=2) < 1e11


def test_the_loop_really_holds_its_instructions(tmp_path: Path) -> None:
    """12 accumulators, twice, between a label and its jump: what a compiler would have folded into one."""
    command = ["c++", "-std=c++20", "-O2", "-S", "-o", str(tmp_path / "peak.s"), str(peak.SOURCE)]
    subprocess.run(command, check=True)
    text = (tmp_path / "peak.s").read_text()
    for register in range(12):
        assert text.count(f"vfmadd231ps %ymm12, %ymm13, %ymm{register}\n") == 2
        assert text.count(f"\tvpdpbusd %zmm12, %zmm13, %zmm{register}\n") == 2
        assert text.count(f"{{vex}} vpdpbusd %ymm12, %ymm13, %ymm{register}\n") == 2
    for register in range(6):
        assert text.count(f"vpmaddubsw %ymm12, %ymm13, %ymm{register + 6}\n") == 2
        assert text.count(f"vpmaddwd %ymm12, %ymm13, %ymm{register + 6}\n") == 2
        assert text.count(f"vpaddd %ymm{register + 6}, %ymm{register}, %ymm{register}\n") == 4
