"""`python -m bench.library --chunks 1000 10000 100000`: how soon a knowledge base answers.

Passages are made of real sentences (the Debian FAQ in ten languages, or in one with `--languages en`), seeded, of 900
characters or 300 where a character is more; each has a number that no other has. Their vectors are random: how long a
search takes does not depend on them. Questions are the FAQ's. Half of them are asked first, in which process and
postings warm up; the other half is measured, each asked once (with the query's embedding) and once again. A cold shell
is `bankml search` in a process of its own, the files in the page cache. Exit status 1 when a promise is broken.
"""

import argparse
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from bankml.embedders import Embedder, choose
from bankml.library.model import binding
from bankml.library.model.fingerprint import fingerprint
from bankml.library.search.searcher import Searcher
from bankml.store import DocumentRow, Passage, Store, documents, vectors
from bench import results
from bench.nearest import random_rows
from bench.report import markdown
from oracle import texts

MODEL = "all-minilm-l6-v2"
CHUNKS = (1_000, 10_000, 100_000)
PASSAGES, BATCH = 50, 1_000  # of a document, of a transaction
LENGTH, DENSE_LENGTH = 900, 300  # characters: 256 tokens or fewer
QUESTIONS = 20  # of a language
COMMON = "how do I install a package on Debian"
SHELLS = 5  # of each question
PROMISED = {"words": 10.0, "meaning": 10.0, "fused": 30.0, "cold shell": 600.0}  # ms, medians at 100,000 passages
DENSE = ("ja", "ko", "zh-cn")


def passages(languages: Sequence[str], count: int) -> Iterator[str]:
    """Seeded: the same in every run, language after language."""
    generator = random.Random("passages")
    sentences = {each: [text for text in texts.sentences(each) if len(text) > 20] for each in languages}
    for number in range(count):
        language = languages[number // PASSAGES % len(languages)]
        most = DENSE_LENGTH if language in DENSE else LENGTH
        parts = [f"{number}:{generator.getrandbits(32):08x}"]
        while sum(map(len, parts)) < most:
            parts.append(generator.choice(sentences[language]))
        yield " ".join(parts)


def questions(languages: Sequence[str]) -> list[str]:
    """Sentences that ask, and one of common words alone."""
    asking = [[text for text in texts.sentences(each) if text.endswith(("?", "\uff1f"))] for each in languages]
    generator = random.Random("questions")
    found = [text for each in asking for text in generator.sample(each, min(QUESTIONS, len(each)))]
    generator.shuffle(found)
    return found


def filled(path: Path, embedder: Embedder, languages: Sequence[str], count: int) -> Store:
    """A store of so many passages."""
    store, rows = Store.create(path), random_rows(count, embedder.dims)
    with store.writing() as db:
        binding.check(db, embedder)
    recipe, source = fingerprint(embedder), passages(languages, count)
    for start in range(0, count, BATCH):
        with store.writing() as db:
            for first in range(start, min(start + BATCH, count), PASSAGES):
                each = [
                    Passage(text, "", 0, len(text), 1, None, 200)
                    for text in islice(source, min(PASSAGES, count - first))
                ]
                row = DocumentRow(f"/faq/{first}.txt".encode(), "text", "", "0" * 64, 1, 0, "1")
                ids = [id for id, _ in documents.replace(db, row, each).added]
                vectors.insert(db, ids, recipe, rows[first : first + len(ids)])
    return store


def warm(store: Store, embedder: Embedder, asked: Sequence[str]) -> dict[str, list[float]]:
    """Milliseconds in a running process: each arm, the whole with and without the embedding of the query."""
    found: dict[str, list[float]] = {name: [] for name in ("words", "meaning", "fused", "again")}
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


def figures(languages: Sequence[str], count: int) -> dict[str, Any]:
    """A line of the table."""
    embedder, asked = choose(name=MODEL), questions(languages)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kb.db"
        start = time.perf_counter()
        with filled(path, embedder, languages, count) as store:
            filling = time.perf_counter() - start
            milliseconds = warm(store, embedder, asked)
        milliseconds["cold shell"] = cold(path, asked[:SHELLS])
        milliseconds["cold shell, common words"] = cold(path, [COMMON] * SHELLS)
        bytes_ = {file.name: file.stat().st_size for file in path.parent.iterdir()}
    return {"chunks": count, "filling_seconds": filling, "bytes": bytes_, "milliseconds": milliseconds}


def table(lines: Sequence[dict[str, Any]]) -> str:
    """Medians, and the value that one in twenty is above."""
    names = list(lines[0]["milliseconds"])
    rows = [[f"{line['chunks']:,}", *(_told(line["milliseconds"][name]) for name in names)] for line in lines]
    return markdown(["passages", *(f"{name}, ms" for name in names)], rows)


def _told(taken: Sequence[float]) -> str:
    return f"{statistics.median(taken):.1f} ({np.percentile(taken, 95):.1f})"


def broken(lines: Sequence[dict[str, Any]]) -> list[str]:
    """What takes longer than promised."""
    medians = [
        (line["chunks"], name, statistics.median(line["milliseconds"][name])) for line in lines for name in PROMISED
    ]
    return [
        f"{name} takes {median:.1f} ms of {chunks:,} passages, promised are {PROMISED[name]:g}"
        for chunks, name, median in medians
        if chunks <= max(CHUNKS) and median > PROMISED[name]
    ]


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.library", description=__doc__)
    parser.add_argument("--chunks", type=int, nargs="+", default=CHUNKS, help="how many passages (default 1k 10k 100k)")
    parser.add_argument("--languages", nargs="+", default=texts.LANGUAGES, choices=texts.LANGUAGES, help="default: all")
    options = parser.parse_args()
    lines = [figures(options.languages, count) for count in options.chunks]
    file, run = results.keep("library", {"lines": lines})
    print(f"`python -m bench.library`, {run['datetime'][:10]}, {run['machine']}; load {run['load'][0]:.1f}; ", end="")
    print(f"medians (95th percentiles).\n\n{table(lines)}\n\n{file}")
    faults = broken(lines)
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
