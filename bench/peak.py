"""The machine's f32 multiply-adds and memory reads per second, by the loops of peak.cpp, compiled when first needed."""

import ctypes
import os
import statistics
import subprocess
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import numpy as np

SOURCE = Path(__file__).with_name("peak.cpp")
READ_BYTES = 256 << 20  # a thread's share, far above every cache


@cache
def _library() -> ctypes.CDLL:
    compiler = os.environ.get("CXX", "c++")
    with tempfile.TemporaryDirectory() as folder:
        built = Path(folder) / "peak.so"
        command = [compiler, "-std=c++20", "-O2", "-shared", "-fPIC", "-o", str(built), str(SOURCE)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr}")
        library = ctypes.CDLL(str(built))
    library.peak_name.restype = ctypes.c_char_p
    library.peak_flops.restype = library.peak_read.restype = ctypes.c_double
    library.peak_flops.argtypes = [ctypes.c_int, ctypes.c_double]
    library.peak_read.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    return library


@cache
def levels() -> dict[str, int]:
    """The instruction sets this machine has, by name, widest first. Empty on an architecture without loops."""
    found: dict[str, int] = {}
    level = 0
    while (name := _library().peak_name(level)) is not None:
        if name:
            found[name.decode()] = level
        level += 1
    return found


def flops(name: str, threads: int, seconds: float = 0.05) -> float:
    """f32 operations per second of `threads` threads together; a multiply-add counts two."""
    return _together(threads, lambda _: float(_library().peak_flops(levels()[name], seconds)))


def read_rate(threads: int, rounds: int = 5) -> float:
    """Bytes per second that `threads` threads together read from memory; the median of the rounds."""
    shares = [np.ones(READ_BYTES, np.uint8) for _ in range(threads)]
    address = [share.ctypes.data for share in shares]
    rates = [_together(threads, lambda i: float(_library().peak_read(address[i], READ_BYTES))) for _ in range(rounds)]
    return statistics.median(rates)


def _together(threads: int, measure: Callable[[int], float]) -> float:
    start = threading.Barrier(threads)

    def measured(index: int) -> float:
        start.wait()
        return measure(index)

    with ThreadPoolExecutor(threads) as pool:
        return sum(pool.map(measured, range(threads)))
