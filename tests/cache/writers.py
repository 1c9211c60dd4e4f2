"""`python -m tests.cache.writers append PATH NAME N`, `… killed PATH ROUNDS`, `… opened PATH ROUNDS`: other processes.

`append` adds N lines, one at a time. `killed` lets a child append in a loop and kills it at a random moment, again and
again, and prints the number of each line that a child had said was written; `opened` kills children that make matrices.
"""

import os
import random
import signal
import sys
import time
from pathlib import Path

import numpy as np

from bankml.cache import Cache, key, vectors

vectors.SMALL = 0  # even a few lines have their matrix in a file
DIGEST, DIMS = "d" * 64, 384


def vector(name):
    """Of a text; every process makes the same."""
    values = np.random.default_rng(int(key(name)[:8], 16)).standard_normal(DIMS).astype(np.float32)
    return values / np.linalg.norm(values)


def append(cache, *names):
    """A line for each name."""
    cache.append("m", DIGEST, [key(name) for name in names], np.stack([vector(name) for name in names]), "e")


def _loop(cache, begin, told):
    for number in range(begin, begin + 100_000, 3):
        append(cache, *(str(number + more) for more in range(3)))
        os.write(told, b"%d\n" % number)


def _open(cache):
    """Makes the matrix, adds to it, makes it anew, …"""
    name = cache.path.name
    while True:
        for number in range(100):
            cache.vectors(DIGEST, 5)
            values = np.eye(5, dtype=np.float32)[number % 5]
            cache.append("m", DIGEST, [key(f"{number % 30}")], values[None])
            if not number % 5:
                for path in cache.path.parent.glob(f"{name}.*.matrix"):
                    path.unlink()


def _opened(cache):
    if not (child := os.fork()):
        _open(cache)
    time.sleep(random.uniform(0.005, 0.06))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def _killed(cache, begin):
    reading, told = os.pipe()
    if not (child := os.fork()):
        _loop(cache, begin, told)
    os.close(told)
    os.read(reading, 1)  # the first line's first digit: from then on it is in the middle of it
    time.sleep(random.uniform(0, 0.02))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with open(reading, "rb") as lines:
        told_of = [begin, *(int(line) for line in lines.read().splitlines()[1:])]
    return [number + more for number in told_of for more in range(3)]


def main(what, path, *more):
    """One of the three."""
    cache = Cache(Path(path))
    if what == "append":
        found = cache.vectors(DIGEST, DIMS)
        for number in range(int(more[1])):
            append(cache, name := f"{more[0]} {number}")
            while found.row(key(name)) is None:
                found.follow()
            assert np.array_equal(found.matrix[found.row(key(name))], vector(name))
    elif what == "opened":
        for _ in range(int(more[0])):
            _opened(cache)
    else:
        for number in range(int(more[0])):
            print(*_killed(cache, 100_000 * number), sep="\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
