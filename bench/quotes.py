"""A verbatim quote from the last third of a long record: whether that record is found first, among 1,000 others.

A part of `python -m bench.finding`. Long records are sections of the English Debian FAQ joined to 2,000 characters and
more. The others are what the modules, classes and functions of Python's standard library say of themselves: English,
technical, of one program after another. Beside passages the same with one vector a record, cut where the model's
context ends.
"""

import ast
import random
import sysconfig
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bankml import models
from bankml.embedders import Embedder, choose
from bankml.encoder import Encoder
from bankml.evaluation.model import Model
from bankml.library.search.searcher import Searcher
from bankml.memory.recall.recaller import Recaller
from bankml.models.progress import Progress
from bankml.nearest import nearest
from bankml.store.record import recipe_text
from bench.found import ALPHAS
from bench.quality import languages
from bench.remembered import Shelf
from bench.report import markdown
from oracle import cache
from oracle.texts import SENTENCE_END

LONG = 2_000  # characters, at least
OTHERS = 1_000
SHORTEST, LONGEST = 40, 200  # characters of a quote
SAID = 100  # characters of a docstring that is taken, at least
LEAST = 0.9  # promised: of the quotes found first

Line = dict[str, Any]


def figures(names: Sequence[str], others: int, progress: Progress) -> list[Line]:
    """A line for each model and method."""
    lines: list[Line] = []
    for name in names:
        with Encoder(models.choose(name).path) as encoder:
            found = measured(choose(name=name), Model(encoder, cache.folder(), progress), long_texts(), others)
        lines += [{"model": name, **line} for line in found]
    return lines


def measured(embedder: Embedder, model: Model, long: Sequence[str], others: int) -> list[Line]:
    """Of one model: the quotes of `long` records among `others`."""
    quotes = [quote(text) for text in long]
    texts = [(f"Note {number}", text) for number, text in enumerate([*long, *docstrings(others)], 1)]
    with tempfile.TemporaryDirectory() as folder:
        shelf = Shelf(Path(folder) / "kb.db", embedder, model)
        with shelf.store, Searcher(shelf.store, lambda: embedder) as searcher:
            ids, recaller = shelf.remember(texts), Recaller(searcher)
            ways: dict[str, dict[str, Any]] = {"words": {"mode": "words"}, "meaning": {"mode": "meaning"}}
            ways |= {"rrf": {"fusion": "rrf"}, "convex": {}} | {
                f"convex α={alpha}": {"alpha": alpha} for alpha in ALPHAS
            }
            ranked = {
                way: [[one.record.id for one in recaller.recall(text, **how).results] for text in quotes]
                for way, how in ways.items()
            }
    found = {way: [ids.index(one[0]) if one else -1 for one in each] for way, each in ranked.items()}
    found["meaning, one vector a record"] = whole(model, [recipe_text(*each) for each in texts], quotes)
    return [
        {"method": way, "records": len(texts), "quotes": len(quotes), "first": float(np.mean(_right(firsts)))}
        for way, firsts in found.items()
    ]


def whole(model: Model, texts: Sequence[str], queries: Sequence[str]) -> list[int]:
    """The nearest of the texts to each query, each text with one vector of what the model takes of it."""
    matrix = model.documents(texts)
    return [int(nearest(matrix, vector, 1)[0][0]) for vector in model.queries(queries)]


def long_texts() -> list[str]:
    """Sections of the English FAQ, joined in their order until each has `LONG` characters."""
    (english,) = languages(["en"])
    texts, parts = [], list[str]()
    for section in english.documents.values():
        parts.append(section)
        if len(text := "\n\n".join(parts)) >= LONG:
            texts.append(text)
            parts = []
    return texts


def quote(text: str) -> str:
    """A sentence that lies in the last third of the text, by chance, the same in every run."""
    start = len(text) * 2 // 3
    sentences = SENTENCE_END.split(text[start:])[1:]
    fitting = [one.strip() for one in sentences if SHORTEST <= len(one.strip()) <= LONGEST]
    return random.Random(text).choice(fitting or [text[-LONGEST:]])


def docstrings(count: int) -> list[str]:
    """So many of the standard library's, by file and place."""
    found: dict[str, None] = {}
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        if len(found) >= count:
            break
        found |= dict.fromkeys(_said(path))
    return list(found)[:count]


def _said(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            text = ast.get_docstring(node) or ""
            if SAID <= len(text) <= LONG:
                yield text


def _right(firsts: Sequence[int]) -> list[bool]:
    return [first == number for number, first in enumerate(firsts)]


def table(lines: Sequence[Line]) -> str:
    """A line each."""
    head = ["model", "method", "quotes", "records", "found first"]
    return markdown(head, [_row(line) for line in lines])


def _row(line: Line) -> list[str]:
    counts = [f"{line[name]:,}" for name in ("quotes", "records")]
    return [line["model"], line["method"], *counts, f"{line['first']:.1%}"]
