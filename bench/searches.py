"""How soon a knowledge base answers, by the number of its passages: a part of `python -m bench.library`.

Passages are of 900 characters, or of 300 where a character is more. Their vectors are random: how long an exact search
takes does not depend on them. Questions are the FAQ's. Half of them are asked first, in which process and postings
warm up; the other half is measured, each asked once (with the query's embedding) and once again. Opening is a new
process' first answer, the model loaded, without the matrix beside the store and with it. A cold shell is `bankml
search` in a process of its own, the files in the page cache.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bankml.embedders import Embedder, choose
from bankml.library.search.searcher import Searcher
from bankml.store import Store
from bench import resident
from bench.alone import alone
from bench.nearest import random_rows
from bench.passages import passages, questions, stored
from bench.report import markdown

MODEL = "all-minilm-l6-v2"
CHUNKS = (1_000, 10_000, 100_000)
COMMON = "how do I install a package on Debian"
SHELLS = 5  # of each question
ARMS = ("words", "meaning", "fused", "again")

Line = dict[str, Any]


def figures(languages: Sequence[str], count: int) -> Line:
    """Everything that is measured of a store of so many passages; times in milliseconds."""
    asked = questions(languages)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kb.db"
        start = time.perf_counter()
        store, _ = stored(path, choose(name=MODEL), passages(languages, count), random_rows(count, 384))
        store.close()
        filling = time.perf_counter() - start
        opening = {name: alone(opened, path, asked[0]) for name in ("without matrix", "with matrix")}
        milliseconds, memory = alone(warmed, path, asked)
        milliseconds["cold shell"] = cold(path, asked[:SHELLS])
        milliseconds["cold shell, common words"] = cold(path, [COMMON] * SHELLS)
        sizes = {file.name: file.stat().st_size for file in path.parent.iterdir()}
    return {
        "chunks": count,
        "filling_seconds": filling,
        "bytes": sizes,
        "opening": opening,
        "milliseconds": milliseconds,
        "resident_bytes": memory,
    }


def opened(path: Path, query: str) -> float:
    """Of the first answer: the store opened, the vectors read, the query embedded."""
    embedder = choose(name=MODEL)
    embedder.embed([query], query=True)
    start = time.perf_counter()
    with Store.open(path) as store, Searcher(store, lambda: embedder) as searcher:
        searcher.search(query)
        return (time.perf_counter() - start) * 1e3


def warmed(path: Path, asked: Sequence[str]) -> tuple[dict[str, list[float]], dict[str, int]]:
    """In a running process: times, and the process' memory after them, the model's included."""
    with Store.open(path) as store:
        found = warm(store, choose(name=MODEL), asked)
        memory = resident.now()
    return found, {"anon": memory.anon, "file": memory.file}


def warm(store: Store, embedder: Embedder, asked: Sequence[str]) -> dict[str, list[float]]:
    """Milliseconds in a running process: each arm, the whole with and without the embedding of the query."""
    found: dict[str, list[float]] = {name: [] for name in ARMS}
    with Searcher(store, lambda: embedder) as searcher:
        half = len(asked) // 2
        for query in asked[:half]:
            searcher.search(query)
        for query in asked[half:]:
            for name in ("fused", "again"):
                start = time.perf_counter()
                explained = searcher.search(query).explained
                found[name].append((time.perf_counter() - start) * 1e3)
                if name == "fused":
                    found["words"].append(explained["words_ms"])
                    found["meaning"].append(explained["vectors_ms"] + explained["meaning_ms"])
    return found


def cold(path: Path, asked: Sequence[str]) -> list[float]:
    """Milliseconds of a shell's command, the first of all not counted: it leaves the matrix beside the store."""
    command = [sys.executable, "-m", "bankml", "search", "--model", MODEL, "--db", str(path)]
    taken = []
    for query in [asked[0], *asked]:
        start = time.perf_counter()
        subprocess.run([*command, query], check=True, capture_output=True)
        taken.append((time.perf_counter() - start) * 1e3)
    return taken[1:]


def median(line: Line, name: str) -> float:
    """Of one kind of search."""
    return statistics.median(line["milliseconds"][name])


def told(milliseconds: Sequence[float]) -> str:
    """The median, and the value that one in twenty is above."""
    return f"{statistics.median(milliseconds):.1f} ({np.percentile(milliseconds, 95):.1f})"


def table(lines: Sequence[Line]) -> str:
    """A line for each store: medians (95th percentiles)."""
    names = list(lines[0]["milliseconds"])
    rows = [[f"{line['chunks']:,}", *(told(line["milliseconds"][name]) for name in names)] for line in lines]
    return markdown(["passages", *(f"{name}, ms" for name in names)], rows)


def room(lines: Sequence[Line]) -> str:
    """A line for each store: how large it is, how long it takes to fill and to open, and the memory of a process."""
    head = ["passages", "filled in, s", "file, MB", "matrix beside it, MB", "opened without it, ms", "with it, ms"]
    return markdown([*head, "resident, MB", "of it mapped files"], [_room(line) for line in lines])


def _room(line: Line) -> list[str]:
    opening, memory, sizes = line["opening"], line["resident_bytes"], line["bytes"]
    file = sum(size for name, size in sizes.items() if name.startswith("kb.db") and not name.endswith(".matrix"))
    return [
        f"{line['chunks']:,}",
        f"{line['filling_seconds']:.1f}",
        _megabytes(file),
        _megabytes(sizes["kb.db.matrix"]) if "kb.db.matrix" in sizes else "-",
        *(f"{milliseconds:.0f}" for milliseconds in opening.values()),
        _megabytes(memory["anon"] + memory["file"]),
        _megabytes(memory["file"]),
    ]


def _megabytes(count: int) -> str:
    return f"{count / 1e6:,.1f}"


def growth(lines: Sequence[Line], name: str) -> float | None:
    """How many times as long the largest store's searches take as those of one of fewer passages, for each time as
    many: 1 is linear, less is better. None of fewer than two stores."""
    ordered = sorted(lines, key=lambda line: line["chunks"])
    if len(ordered) < 2:
        return None
    before, last = ordered[-2:]
    return median(last, name) / median(before, name) / (last["chunks"] / before["chunks"])
