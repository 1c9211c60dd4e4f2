"""The CPU that engines see: with AVX2 and nothing wider, in every thread, whatever else a process does with SIGSEGV."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from bench import cpu
from bench.worker import Worker
from oracle import seeded

try:
    cpu.check("avx2")
except RuntimeError as error:
    pytestmark = pytest.mark.skip(reason=str(error))

WIDE = """
#include <cpuid.h>
// AVX-512, AMX, AVX-VNNI … of leaf 7, or-ed: zero on a CPU with AVX2 alone; AVX2 in bit 1 of *narrow
extern "C" int wide(int* narrow) {
  unsigned a, b, c, d, wider;
  __cpuid_count(7, 0, a, b, c, d);
  *narrow = (b >> 5) & 1;
  wider = (b & 0xdc230000) | (c & 0x5842) | (d & 0x03c0010c);
  __cpuid_count(7, 1, a, b, c, d);
  return wider | (a & 0x00a00030) | (d & 0x00080530);
}
"""
ASKS = """
import ctypes, sys, threading
library, narrow = ctypes.CDLL(sys.argv[1]), ctypes.c_int()
found = []
def ask():
    found.append((library.wide(ctypes.byref(narrow)), narrow.value))
ask()
thread = threading.Thread(target=ask)
thread.start()
thread.join()
print(found)
"""


@pytest.fixture
def asking(tmp_path: Path) -> Path:
    source = tmp_path / "wide.cpp"
    source.write_text(WIDE)
    return cpu.native.built(source)


def said(asking: Path, seen: cpu.CPU) -> list[tuple[int, int]]:
    command = [sys.executable, "-c", ASKS, str(asking)]
    done = subprocess.run(command, env=cpu.environment(seen, "bankml"), capture_output=True, text=True, check=True)
    found: list[tuple[int, int]] = eval(done.stdout)
    return found


def test_nothing_wider_than_avx2_is_seen_in_any_thread(asking: Path) -> None:
    assert said(asking, "avx2") == [(0, 1), (0, 1)]


@pytest.mark.skipif("avx512f" not in Path("/proc/cpuinfo").read_text(), reason="needs a CPU with AVX-512")
def test_the_machines_own_cpu_has_more(asking: Path) -> None:
    assert all(wider for wider, _ in said(asking, "native"))


def test_a_real_fault_still_ends_the_process() -> None:
    command = [sys.executable, "-c", "import ctypes; ctypes.string_at(8)"]
    done = subprocess.run(command, env=cpu.environment("avx2", "bankml"), capture_output=True, timeout=60)
    assert done.returncode == -11


def test_bankml_takes_avx2(tmp_path: Path) -> None:
    with Worker("bankml", str(seeded.tiny(tmp_path / "tiny.gguf")), "avx2") as worker:
        assert worker.uses() == "avx2"


@pytest.mark.skipif("avx512f" not in Path("/proc/cpuinfo").read_text(), reason="needs a CPU with AVX-512")
@pytest.mark.skipif(cpu.since_avx512() is None, reason="the kernel does not tell")
@pytest.mark.parametrize("engine", ["bankml", "ONNX Runtime f32"])
def test_the_kernel_sees_whether_wide_registers_are_used(minilm: Path, engine: str) -> None:
    if engine != "bankml":
        pytest.importorskip("onnx")
    since: dict[cpu.CPU, float | None] = {}
    for seen in cpu.CPUS:
        with Worker(engine, str(minilm), seen) as worker:
            worker.prepare([[101, *range(2000, 2100), 102]])
            begun = time.monotonic()
            for _ in range(5):
                worker.turn(2)
            since[seen] = worker.since_avx512()
            took = time.monotonic() - begun
            assert since[seen] is not None
            assert (since[seen] < took) == (seen == "native")


@pytest.mark.parametrize("words", ["AVX512 = 1 | FMA = 1", "avx512vnni", "avxvnni", "AVX_VNNI = 1", "AMX_INT8 = 1"])
def test_words_of_wider_instructions_are_known(words: str) -> None:
    assert cpu.WIDER.search(words)
    assert not cpu.WIDER.search("CPU : SSE3 = 1 | AVX = 1 | AVX2 = 1 | F16C = 1 | FMA = 1 | BMI2 = 1")


def test_a_llama_cpp_of_another_version_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu, "LLAMA", tmp_path / "llama-avx2")
    monkeypatch.setattr(cpu.report, "versions", lambda: {"llama-cpp-python": "0.3.36"})
    assert "run `make llama-avx2`" in cpu.missing("avx2", "llama.cpp")
    (tmp_path / "llama-avx2" / "llama_cpp_python-0.3.35.dist-info").mkdir(parents=True)
    assert "is 0.3.35, not 0.3.36" in cpu.missing("avx2", "llama.cpp")
    (tmp_path / "llama-avx2" / "llama_cpp_python-0.3.35.dist-info").rename(
        tmp_path / "llama-avx2" / "llama_cpp_python-0.3.36.dist-info"
    )
    assert cpu.missing("avx2", "llama.cpp") == ""
    assert cpu.missing("native", "llama.cpp") == ""
    assert cpu.missing("avx2", "bankml") == ""


def test_peaks_are_those_of_the_cpu_that_is_seen() -> None:
    names = ["avx512", "avx2", "sse", "avxvnni vpdpbusd", "avx2 vpmaddubsw"]
    assert cpu.levels("native", names) == names
    assert cpu.levels("avx2", names) == ["avx2", "sse", "avx2 vpmaddubsw"]


def test_a_machine_that_cannot_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "read_text", lambda self, **_: "flags\t\t: fpu avx2\n")
    cpu.check("native")
    with pytest.raises(RuntimeError, match="cannot trap cpuid"):
        cpu.check("avx2")
