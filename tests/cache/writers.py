"""`python -m tests.cache.writers append PATH NAME N` and `… killed PATH ROUNDS`: processes that append, and are killed.

`append` adds N lines, one at a time. `killed` lets a child append in a loop and kills it at a random moment, again and
again, and prints the number of each line that a child had said was written.
"""

import os
import random
import signal
import sys
import time
from pathlib import Path

import numpy as np

from bankml.cache import Cache, key

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
    """One of the two."""
    cache = Cache(Path(path))
    if what == "append":
        for number in range(int(more[1])):
            append(cache, f"{more[0]} {number}")
    else:
        for number in range(int(more[0])):
            print(*_killed(cache, 100_000 * number), sep="\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
