"""Searching a history of 10,000 exchanges as somebody types, and the original's table measured here.

`python -m bench.history [--exchanges N] [--table]`. The vectors of the many exchanges are random: what they say changes
no time. A process of its own embeds, so that its memory is the model's alone.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from bankml import models
from bankml.cache import Cache, key
from bankml.embedders import NativeEmbedder
from bankml.history.exchange import Exchange
from bankml.history.indexing import cache_path, index
from bankml.history.searcher import Searcher
from bench import resident, sections
from oracle import seeded

SAMPLE = Path(__file__).parents[1] / "examples" / "sample.history"
QUESTION = "How fast is the ternary model on this laptop?"
FACT, OATH = 0, 1  # lines of the sample: decode speed, an oath
QUERIES = 50
WORDS_MS, FUSED_MS = 10.0, 15.0  # promised for 10,000 exchanges


def many(folder: Path, count: int) -> Path:
    """A history of `count` exchanges: pieces of the Debian FAQ, which repeat with a number in them."""
    words = " ".join(sections.sections("en")).split()
    generator = np.random.Generator(np.random.Philox(key=count))
    path = folder / "many.history"
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            start, length = generator.integers(0, len(words) - 300), generator.integers(30, 300)
            said = " ".join(words[start : start + length])
            file.write(json.dumps({"user": f"question {number}", "assistant": said}) + "\n")
    return path


def embedded(path: Path, embedder: NativeEmbedder) -> None:
    """Random unit vectors for every exchange."""
    keys = [
        key(Exchange(0, record["user"], record["assistant"]).embedded(embedder.document_prefix))
        for record in map(json.loads, path.read_text(encoding="utf-8").splitlines())
    ]
    rows = np.random.Generator(np.random.Philox(key=1)).standard_normal((len(keys), embedder.dims), np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    Cache(cache_path(path)).append(embedder.model, embedder.digest, keys, rows, embedder.engine)


def typing(path: Path, embedder: NativeEmbedder) -> dict[str, float]:
    """Milliseconds: the first search, and the median of later ones by words and fused with a warm query vector."""

    def none() -> NativeEmbedder:
        from bankml.errors import UnavailableError

        raise UnavailableError("as asked")

    vocabulary = sorted({word for word in " ".join(sections.sections("en")).split() if word.isalpha()})
    generator = np.random.Generator(np.random.Philox(key=2))
    queries = [" ".join(generator.choice(vocabulary, 3)) for _ in range(QUERIES)]
    found = {}
    for name, choose in (("words", none), ("fused", lambda: embedder)):
        searcher = Searcher(path, choose, embed=False)
        found[f"{name}, first"] = _ms(lambda searcher=searcher: searcher.search(queries[0]))
        for query in queries:
            searcher.search(query)
        times = [_ms(lambda query=query, searcher=searcher: searcher.search(query)) for query in queries]
        found[name], found[f"{name}, p95"] = statistics.median(times), float(np.percentile(times, 95))
        searcher.close()
    return found


def first_calls(path: Path) -> dict[str, float]:
    """Seconds and bytes of a model in this process: on the sample's first three exchanges."""
    before = resident.now().total
    texts = [Exchange(0, **_said(line)).embedded() for line in SAMPLE.read_text(encoding="utf-8").splitlines()[:3]]
    embedder = NativeEmbedder(models.choose(str(path)))
    first = _ms(lambda: embedder.embed([QUESTION], query=True)) / 1e3
    after = resident.now().total
    three = _ms(lambda: embedder.embed(texts)) / 1e3
    with tempfile.TemporaryDirectory() as folder:
        history = Path(folder) / "three.history"
        history.write_text("".join(SAMPLE.read_text(encoding="utf-8").splitlines(keepends=True)[:3]), encoding="utf-8")
        indexing = _ms(lambda: index(history, embedder, allow_licence=["unknown"])) / 1e3
    query = embedder.embed([QUESTION], query=True)[0]
    lines = SAMPLE.read_text(encoding="utf-8").splitlines()
    facts = embedder.embed([Exchange(0, **_said(lines[number])).embedded() for number in (FACT, OATH)])
    return {
        "first call (load + embed one text), s": first,
        "next call (three texts, loaded), s": three,
        "memory while loaded, MB": (after - before) / 1e6,
        "indexing three exchanges, s": indexing,
        "cosine to a fact about decode speed": float(facts[0] @ query),
        "cosine to the office's oath": float(facts[1] @ query),
    }


def _said(line: str) -> dict[str, str]:
    record = json.loads(line)
    return {"user": record["user"], "assistant": record["assistant"]}


def _ms(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1e3


def _table() -> None:
    paths = {name: models.pull(name) for name in ("all-minilm-l6-v2", "multilingual-e5-small")}
    paths["bge-m3's shape, F16"] = seeded.bge_m3_shape()
    if (choice := models.choose("bge-m3")).present:
        paths["bge-m3"] = choice.path
    columns = {}
    for name, path in paths.items():
        done = subprocess.run([sys.executable, "-m", __spec__.name, "--one", path], capture_output=True, check=True)
        columns[name] = json.loads(done.stdout)
    print("| | " + " | ".join(columns) + " |\n|---|" + "---|" * len(columns))
    for row in next(iter(columns.values())):
        print(f"| {row} | " + " | ".join(f"{column[row]:.3f}" for column in columns.values()) + " |")


def _typing(count: int) -> int:
    worst = 0
    for name in ("all-minilm-l6-v2", "bge-m3's shape, F16"):
        path = seeded.bge_m3_shape() if name.startswith("bge") else models.pull(name)
        embedder = NativeEmbedder(models.choose(str(path)))
        with tempfile.TemporaryDirectory() as folder:
            history = many(Path(folder), count)
            embedded(history, embedder)
            found = typing(history, embedder)
        print(f"{name}, {count:,} exchanges: " + ", ".join(f"{what} {ms:.1f} ms" for what, ms in found.items()))
        if count <= 10_000 and (found["words"] > WORDS_MS or found["fused"] > FUSED_MS):
            print(f"  promised: words {WORDS_MS} ms, fused {FUSED_MS} ms", file=sys.stderr)
            worst = 1
    return worst


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--exchanges", type=int, default=10_000)
    parser.add_argument("--table", action="store_true", help="the original's table, measured here")
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(first_calls(options.one)))
        return 0
    if options.table:
        _table()
        return 0
    return _typing(options.exchanges)


if __name__ == "__main__":
    sys.exit(main())
