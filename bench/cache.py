"""`python -m bench.cache [--lines N] [--dims D] [--folder F]`: how long vectors take to append, decode and open.

The .emb, 5,700 bytes a line of 1,024 dimensions, and the matrix beside it are made in a folder of their own, which goes
in the end. "build" decodes all of the .emb; "open" is what every later process waits for; "search" is a product of all
rows with a query, the first of which reads what is not in memory.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from bankml.cache import Cache, Vectors, key

BATCH = 1000  # lines of an append
TURNS = 5
DIGEST = "0" * 64

T = TypeVar("T")


def main(arguments: Sequence[str]) -> int:
    """0; 1 when what was opened is not what was appended."""
    parser = argparse.ArgumentParser(prog="python -m bench.cache", description=__doc__)
    parser.add_argument("--lines", type=int, default=100_000, help="100,000")
    parser.add_argument("--dims", type=int, default=1024, help="1,024")
    parser.add_argument("--folder", help="where to work; the system's temporary folder")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        return _measure(Cache(Path(folder) / "bench.history.emb"), options.lines, options.dims)


def _measure(cache: Cache, n: int, dims: int) -> int:
    keys, rows = [key(str(number)) for number in range(n)], _unit(n, dims)
    seconds, _ = _timed(lambda: _append(cache, keys, rows))
    _say("append", seconds, f"{n / seconds:,.0f} lines/s in batches of {BATCH}, {cache.path.stat().st_size:,} bytes")
    seconds, vectors = _timed(lambda: cache.vectors(DIGEST, dims))
    side = sum(path.stat().st_blocks * 512 for path in cache.path.parent.iterdir() if path != cache.path)
    _say("build", seconds, f"{n / seconds:,.0f} lines/s, a matrix of {side:,} bytes, mapped: {vectors.mapped}")
    opened = [_timed(lambda: cache.vectors(DIGEST, dims)) for _ in range(TURNS)]
    _say("open", min(seconds for seconds, _ in opened), f"the best of {TURNS}; the aim for 100,000 x 1,024 is 0.2 s")
    searched = [_timed(lambda: opened[-1][1].matrix @ rows[0])[0] for _ in range(TURNS)]
    _say("search", searched[0], f"then {min(searched):.4f} s")
    cache.append("bench", DIGEST, [key("one more")], rows[:1])
    seconds, _ = _timed(vectors.follow)
    _say("follow", seconds, "one line appended")
    seconds, _ = _timed(vectors.follow)
    _say("follow", seconds, "nothing appended")
    return 0 if _same(vectors, keys, rows) else 1


def _append(cache: Cache, keys: list[str], rows: NDArray[np.float32]) -> None:
    for at in range(0, len(keys), BATCH):
        cache.append("bench", DIGEST, keys[at : at + BATCH], rows[at : at + BATCH], "bench")


def _same(vectors: Vectors, keys: list[str], rows: NDArray[np.float32]) -> bool:
    return len(vectors) == len(keys) + 1 and np.array_equal(vectors.matrix[: len(keys)], rows)


def _unit(n: int, dims: int) -> NDArray[np.float32]:
    rows = np.random.default_rng(0).standard_normal((n, dims), dtype=np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


def _timed(act: Callable[[], T]) -> tuple[float, T]:
    start = time.perf_counter()
    result = act()
    return time.perf_counter() - start, result


def _say(what: str, seconds: float, more: str) -> None:
    print(f"{what:8}{seconds:10.4f} s  {more}", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
