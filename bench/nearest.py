"""`python -m bench.nearest`: exact search beside the memory's read speed and beside numpy, and what small types cost.

Every round measures the read speed (bench/peak.cpp), then each search, all on all cores; a figure is the median over
the rounds, a share the median of each round's own. Recall@10 is against the same search of float32, on random rows and
on MiniLM's vectors of sentences of the English Debian FAQ. Exit status 1 when float32 is slower than promised.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import bankml
from bankml import _engine
from bankml.nearest import Matrix, nearest, quantized
from bench import peak, results, sections
from bench.report import markdown

PROMISED = 0.85  # of the read speed, for float32
K, RECALL_QUERIES = 10, 50
Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Search:
    """What is timed: a search, and the bytes it reads."""

    run: Callable[[Floats], Any]
    bytes: int


@dataclass(frozen=True)
class Stored:
    matrix: Matrix
    scales: Floats | None = None

    def nearest(self, query: Floats) -> NDArray[np.int64]:
        """The K nearest rows."""
        return nearest(self.matrix, query, K, scales=self.scales)[0]


def random_rows(count: int, dims: int) -> Floats:
    """Unit rows, the same in every run."""
    rows = np.random.default_rng(1).standard_normal((count, dims), np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


def sentences() -> Floats:
    """MiniLM's vectors of the FAQ's sentences."""
    found = [part.strip() for text in sections.sections("en") for part in text.split(". ")]
    with bankml.load("all-minilm-l6-v2") as encoder:
        return encoder.encode(sorted({part[:300] for part in found if len(part) > 40}))


def stored(rows: Floats) -> dict[str, Stored]:
    """The rows in each type."""
    return {"f32": Stored(rows), "f16": Stored(rows.astype(np.float16)), "int8": Stored(*quantized(rows))}


def by_numpy(rows: Floats, query: Floats) -> NDArray[np.int64]:
    """The peer: a product and a partial sort."""
    cosines = rows @ query
    best = np.argpartition(-cosines, K)[:K]
    return best[np.argsort(-cosines[best], kind="stable")]


def searches(kinds: dict[str, Stored]) -> dict[str, Search]:
    """What is timed, by name."""
    ours = {
        f"bankml {name}": Search(kind.nearest, kind.matrix.nbytes + (0 if kind.scales is None else kind.scales.nbytes))
        for name, kind in kinds.items()
    }
    rows = kinds["f32"].matrix
    return ours | {"numpy f32": Search(lambda query: by_numpy(rows, query), rows.nbytes)}


def timed(search: Search, query: Floats) -> float:
    """Seconds of one call."""
    start = time.perf_counter()
    search.run(query)
    return time.perf_counter() - start


def rounds(named: dict[str, Search], dims: int, count: int) -> dict[str, Any]:
    """Seconds of each search and the read speed, round after round."""
    threads, queries = _engine.default_threads(), random_rows(count + 1, dims)
    for search in named.values():
        search.run(queries[count])  # once not counted: threads start, pages are mapped
    found: dict[str, list[float]] = {name: [] for name in ("read", *named)}
    for query in queries[:count]:
        found["read"].append(peak.read_rate(threads, rounds=1))
        for name, search in named.items():
            found[name].append(timed(search, query))
    return {"threads": threads, "read": found.pop("read"), "seconds": found}


def recall(kinds: dict[str, Stored], queries: Floats) -> dict[str, float]:
    """Of float32's K nearest rows, the share that each type finds too."""
    truth = [set(kinds["f32"].nearest(query)) for query in queries]
    return {
        name: statistics.mean(
            len(best & set(kind.nearest(query))) / K for best, query in zip(truth, queries, strict=True)
        )
        for name, kind in kinds.items()
    }


def figures(count: int, dims: int, turns: int) -> dict[str, Any]:
    """Everything that is measured."""
    kinds = stored(random_rows(count, dims))
    named = searches(kinds)
    vectors = sentences()
    asked = np.arange(len(vectors)) % (len(vectors) // RECALL_QUERIES) == 0
    return {
        "rows": count,
        "dims": dims,
        **rounds(named, dims, turns),
        "bytes": {name: search.bytes for name, search in named.items()},
        "recall": recall(kinds, random_rows(RECALL_QUERIES, dims)),
        "sentences": len(vectors) - int(asked.sum()),
        "sentences_recall": recall(stored(np.ascontiguousarray(vectors[~asked])), vectors[asked]),
    }


def share(run: dict[str, Any], name: str) -> float:
    """Of the read speed, the median over the rounds."""
    rates = (run["bytes"][name] / seconds for seconds in run["seconds"][name])
    return statistics.median(rate / read for rate, read in zip(rates, run["read"], strict=True))


def table(run: dict[str, Any]) -> str:
    """The figures in words."""
    head = ("search", "ms", "GB/s", "of the read speed", "recall@10, random rows", "recall@10, sentences by MiniLM")
    lines = []
    for name, seconds in run["seconds"].items():
        median, kind = statistics.median(seconds), name.split()[1]
        kept = [f"{run[what][kind]:.3f}" for what in ("recall", "sentences_recall")]
        rate = f"{run['bytes'][name] / median / 1e9:.1f}"
        lines.append([name, f"{1e3 * median:.1f}", rate, f"{share(run, name):.0%}", *kept])
    shape = f"{run['rows']:,} x {run['dims']:,}, {K} nearest, {run['threads']} threads"
    read = f"memory read {statistics.median(run['read']) / 1e9:.1f} GB/s; {run['sentences']:,} sentences"
    return f"{shape}; {read}\n\n{markdown(head, lines)}"


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.nearest", description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--dims", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    file, run = results.keep("nearest", figures(options.rows, options.dims, options.rounds))
    print(f"{table(run)}\n\n{file}")
    if share(run, "bankml f32") < PROMISED:
        print(f"float32 is searched at less than {PROMISED:.0%} of the read speed", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
