"""The machine's f32 and integer multiply-adds and memory reads per second, by the loops of peak.cpp."""

import ctypes
import statistics
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from bench import native

SOURCE = Path(__file__).with_name("peak.cpp")
READ_BYTES = 256 << 20  # a thread's share, far above every cache


@dataclass(frozen=True)
class Level:
    """A loop of peak.cpp: what it multiplies ("f32", "int8", "int16"), and its number there."""

    kind: str
    number: int


@cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(str(native.built(SOURCE)))
    library.peak_name.restype = library.peak_kind.restype = ctypes.c_char_p
    library.peak_rate.restype = library.peak_read.restype = ctypes.c_double
    library.peak_rate.argtypes = [ctypes.c_int, ctypes.c_double]
    library.peak_read.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    return library


@cache
def levels() -> dict[str, Level]:
    """The loops this machine runs, by name, of each kind the widest first. Empty on an architecture without loops."""
    found: dict[str, Level] = {}
    number = 0
    while (name := _library().peak_name(number)) is not None:
        if name:
            found[name.decode()] = Level(_library().peak_kind(number).decode(), number)
        number += 1
    return found


def rate(name: str, threads: int, seconds: float = 0.05) -> float:
    """Operations per second of `threads` threads together; a multiply-add counts two."""
    return _together(threads, lambda _: float(_library().peak_rate(levels()[name].number, seconds)))


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
