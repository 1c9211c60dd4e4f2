"""bankml beside chromadb, lancedb and txtai, on the same texts with the same vectors.

A part of `python -m bench.library`. The peers live in an environment of their own (`make .venv/.bench-library`), each
in a process of its own, without telemetry. Texts are the FAQ's sentences in ten languages with MiniLM's vectors; where
more are asked for, the sentences again with a number before them, each vector moved by noise, so that neighbours are as
those of real texts. Questions are the FAQ's; half of them are asked first and not timed. Indexing ends when every file
is synced to the disk, for all.
"""

import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bankml.embedders import choose
from bankml.evaluation import metrics
from bench.job import Floats, Job
from bench.passages import questions
from bench.report import markdown
from bench.results import ROOT
from bench.searches import told
from bench.shelves import SHELVES
from oracle import texts

OURS = "bankml"
MODEL = "all-minilm-l6-v2"
NOISE = 0.5  # the length of what is added to a vector of length 1: cosine 0.89 to what it was
KINDS = ("words", "meaning", "fused")
PYTHON = Path(sys.prefix) / "bench-library" / "bin" / "python"
INSTALL = "`make .venv/.bench-library` installs chromadb, lancedb and txtai"
LEAST = 0.99  # of the exact ten, what bankml finds by meaning: it is exact, but for cosines that are equal


def measured(job: Job, vectors: Floats, asked: Floats, python: Path) -> dict[str, Any]:
    """The figures of every library, by name; of one that cannot be had here `missing` says why."""
    with tempfile.TemporaryDirectory() as folder:
        job.write(Path(folder), vectors, asked)
        return {name: run(name, Path(folder), python) for name in SHELVES}


def run(name: str, folder: Path, python: Path) -> dict[str, Any]:
    """One library's figures of the job in `folder`, by the Python that has it. Raises where bankml itself fails."""
    if name == OURS:
        python = Path(sys.executable)
    elif not python.exists():
        return {"missing": f"not installed: {INSTALL}"}
    command = [str(python), "-m", "bench.shelved", name, str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode == 0:
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return found
    why = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
    if name == OURS:
        raise RuntimeError(f"{name}: {why}")
    return {"missing": why}


def figures(count: int, python: Path, languages: Sequence[str] = texts.LANGUAGES) -> dict[str, Any]:
    """Time, room and recall of so many texts."""
    asked = questions(languages)
    embedder = choose(name=MODEL)
    sentences = real(languages)[:count]
    vectors = spread(embedder.embed(sentences), count)
    job = Job(numbered(sentences, count), asked, MODEL, warm=len(asked) // 2)
    queries = embedder.embed(asked, query=True)
    found = measured(job, vectors, queries, python)
    nearest = exact(vectors, queries, job.k)
    for stage in (stage for library in found.values() for stage in library.get("stages", ())):
        if "meaning" in stage["searches"]:
            stage["recall"] = recall(stage["searches"]["meaning"]["found"], nearest)
        for search in stage["searches"].values():
            del search["found"]
    return {"texts": count, "sentences": len(sentences), "questions": len(asked), "libraries": found}


def real(languages: Sequence[str]) -> list[str]:
    """All sentences of the FAQ, each once, the languages mixed."""
    found = list(dict.fromkeys(text for language in languages for text in texts.sentences(language)))
    random.Random("sentences").shuffle(found)
    return found


def numbered(sentences: Sequence[str], count: int) -> list[str]:
    """The sentences, and again with a number that no other has, until there are so many."""
    generator = random.Random("numbered")
    again = (f"{number}: {generator.choice(sentences)}" for number in range(len(sentences), count))
    return [*sentences, *again]


def spread(vectors: Floats, count: int) -> Floats:
    """The vectors (n, dims), and again those of seeded ones moved by noise, until there are so many; unit length."""
    chance = np.random.default_rng(1)
    chosen = vectors[chance.integers(0, len(vectors), count - len(vectors))]
    moved = chosen + NOISE / vectors.shape[1] ** 0.5 * chance.standard_normal(chosen.shape, np.float32)
    return np.vstack([vectors, moved / np.linalg.norm(moved, axis=1, keepdims=True)])


def exact(vectors: Floats, asked: Floats, k: int) -> list[list[int]]:
    """The numbers of the k nearest to each question, by numpy."""
    return [np.argsort(-(vectors @ vector), kind="stable")[:k].tolist() for vector in asked]


def recall(found: Sequence[Sequence[int]], nearest: Sequence[Sequence[int]]) -> float:
    """Of the nearest, the mean share that was found."""
    pairs = zip(found, nearest, strict=True)
    return float(np.mean([metrics.recall(each, truth, len(truth)) for each, truth in pairs]))


def table(figures: dict[str, Any]) -> str:
    """A line for each library, and for each index that it has."""
    head = ["library", "indexed in, s", *(f"{kind}, ms" for kind in KINDS), "first answer, ms", "recall@10 of meaning"]
    rows = [
        _row(name, library["version"], stage)
        for name, library in figures["libraries"].items()
        for stage in library.get("stages", ())
    ]
    return markdown([*head, "on the disk, MB", "resident, MB"], rows)


def _row(name: str, version: str, stage: dict[str, Any]) -> list[str]:
    searches = stage["searches"]
    return [
        f"{name} {version}{', ' if stage['made'] else ''}{stage['made']}",
        f"{stage['seconds']:.1f}",
        *(told(searches[kind]["milliseconds"]) if kind in searches else "-" for kind in KINDS),
        f"{max(search['first'] for search in searches.values()):.0f}",
        f"{stage['recall']:.3f}" if "recall" in stage else "-",
        f"{stage['bytes'] / 1e6:,.0f}",
        f"{stage['resident_bytes'] / 1e6:,.0f}",
    ]


def missing(libraries: dict[str, Any]) -> list[str]:
    """A sentence for each library that has no figures."""
    return [f"{name}: {library['missing']}" for name, library in libraries.items() if "missing" in library]
