"""What is found among records and among documents, and how soon: the Debian FAQ's questions, each with one answer.

A part of `python -m bench.finding`. In each language a store holds every section twice, as a record and as a document;
titles are the questions, and stand in neither. Records are asked for by the ranker of `bankml query`, documents by that
of `bankml search`. Times are of a process that has searched before; the query's embedding is told beside them.
"""

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bankml import models
from bankml.embedders import Embedder, choose
from bankml.encoder import Encoder
from bankml.evaluation import faq, metrics, passages
from bankml.evaluation.faq import Language
from bankml.evaluation.methods import RRF_60
from bankml.evaluation.model import Model
from bankml.library.search.searcher import Searcher
from bankml.memory.recall.recaller import Recaller
from bankml.models.progress import Progress
from bench.quality import languages
from bench.remembered import Shelf
from bench.report import markdown
from oracle import cache

MODELS = {"all-minilm-l6-v2": ("en",), "multilingual-e5-small": faq.LANGUAGES}
N = 10  # records, as `bankml query` shows; MRR counts in these
PASSAGES = 30  # of a search of documents: the first ten documents are among them
ALPHAS = (0.5, 0.6, 0.7, 0.8, 0.9)
RECORDS, DOCUMENTS = "records", "documents"
METRICS = ("recall@3", "recall@10", "MRR", "nDCG@10")

Line = dict[str, Any]
Ranked = Callable[[str], Sequence[Any]]
"""A query's answer: ids of records or documents, best first."""


@dataclass(frozen=True)
class Asked:
    """A store with its searcher; `numbers`: the section of a record or a document, by its id."""

    searcher: Searcher
    numbers: Mapping[Any, int]


def figures(wanted: Mapping[str, Sequence[str]], progress: Progress) -> list[Line]:
    """A line for each model, language, kind and method; and of each model and language one for embedding queries."""
    lines: list[Line] = []
    for name, codes in wanted.items():
        with Encoder(models.choose(name).path) as encoder:
            model = Model(encoder, cache.folder(), progress)
            for one in languages(codes):
                lines += [{"model": name, "language": one.code, **line} for line in of(one, choose(name=name), model)]
    return lines


def of(language: Language, embedder: Embedder, model: Model) -> Iterator[Line]:
    """Of one model in one language."""
    queries, order = language.queries, {id: number for number, id in enumerate(language.documents)}
    with tempfile.TemporaryDirectory() as folder:
        shelf = Shelf(Path(folder) / "kb.db", embedder, model)
        with shelf.store, Searcher(shelf.store, lambda: embedder) as searcher:
            asked = Asked(searcher, _filled(shelf, language, model))
            yield {
                "kind": "queries",
                "method": "embedding",
                **_times([_ms(embedder, text) for text in queries.values()]),
            }
            for kind, methods in ((RECORDS, of_records(asked)), (DOCUMENTS, of_documents(asked))):
                for method, search in methods.items():
                    search(next(iter(queries.values())))
                    judged = [_judged(asked, search, text, order[id]) for id, text in queries.items()]
                    means = dict(zip(METRICS, np.mean([values for values, _ in judged], axis=0).tolist(), strict=True))
                    times = _times([ms for _, ms in judged])
                    yield {"kind": kind, "method": method, "queries": len(queries), **means, **times}


def of_records(asked: Asked) -> dict[str, Ranked]:
    """The methods of `bankml query`."""
    recaller = Recaller(asked.searcher)

    def by(**how: Any) -> Ranked:
        return lambda query: [one.record.id for one in recaller.recall(query, N, **how).results]

    fused = {f"convex α={alpha}": by(alpha=alpha) for alpha in ALPHAS}
    return {"words": by(mode="words"), "meaning": by(mode="meaning"), "rrf": by(fusion="rrf"), **fused}


def of_documents(asked: Asked) -> dict[str, Ranked]:
    """Those of `bankml search`, by each document's best passage; rrf of both arms' lists, which it does not use."""

    def by(mode: Any) -> Ranked:
        def ranked(query: str) -> Sequence[Any]:
            hits = asked.searcher.search(query, PASSAGES, mode).results
            return list(dict.fromkeys(hit.document for hit in hits))[:N]

        return ranked

    words, meaning = by("words"), by("meaning")

    def rrf(query: str) -> Sequence[Any]:
        return RRF_60.rank((words(query), ()), (meaning(query), ()))[:N]

    return {"words": words, "meaning": meaning, "rrf": rrf, "convex": by("fused")}


def _filled(shelf: Shelf, language: Language, model: Model) -> dict[Any, int]:
    texts = list(language.documents.values())
    ids = shelf.remember([(f"Section {number}", text) for number, text in enumerate(texts, 1)])
    numbers: dict[Any, int] = {id: number for number, id in enumerate(ids)}
    cut = passages.cut(texts, model)
    ends = [*cut.starts[1:].tolist(), len(cut.texts)]
    for number, (start, end) in enumerate(zip(cut.starts.tolist(), ends, strict=True)):
        numbers[shelf.add(f"{number}.txt", cut.texts[start:end])] = number
    return numbers


def _judged(asked: Asked, search: Ranked, query: str, answer: int) -> tuple[tuple[float, ...], float]:
    """The METRICS of one query, and its milliseconds: of the second time, when its vector is known."""
    search(query)
    start = time.perf_counter()
    ranked = search(query)
    ms = (time.perf_counter() - start) * 1e3
    found, relevant = [asked.numbers[id] for id in ranked], {answer}
    return (
        metrics.recall(found, relevant, 3),
        metrics.recall(found, relevant),
        metrics.reciprocal_rank(found, relevant),
        metrics.ndcg(found, relevant),
    ), ms


def _ms(embedder: Embedder, query: str) -> float:
    start = time.perf_counter()
    embedder.embed([query], query=True)
    return (time.perf_counter() - start) * 1e3


def _times(milliseconds: Sequence[float]) -> dict[str, float]:
    """Medians, and what one in twenty is above."""
    return dict(zip(("p50_ms", "p95_ms"), np.percentile(milliseconds, [50, 95]).tolist(), strict=True))


def means(lines: Sequence[Line]) -> list[Line]:
    """Over the languages of a model, each counting alike."""
    found = []
    for model, kind, method in dict.fromkeys((one["model"], one["kind"], one["method"]) for one in lines):
        own = [one for one in lines if (one["model"], one["kind"], one["method"]) == (model, kind, method)]
        numbers = {name: float(np.mean([one[name] for one in own])) for name in own[0] if name in NUMBERS}
        found.append({"model": model, "language": f"{len(own)} languages", "kind": kind, "method": method, **numbers})
    return found


NUMBERS = (*METRICS, "p50_ms", "p95_ms")


def table(lines: Sequence[Line]) -> str:
    """A line each, those of embedding without metrics; models of several languages have their means first."""
    several = [name for name in MODELS if len({one["language"] for one in lines if one["model"] == name}) > 1]
    shown = [*means([one for one in lines if one["model"] in several]), *lines]
    head = ["model", "language", "of", "method", *METRICS, "p50, ms", "p95, ms"]
    return markdown(head, [_row(line) for line in shown])


def _row(line: Line) -> list[str]:
    cells = [f"{line[name]:.3f}" if name in line else "" for name in METRICS]
    return [
        *(line[name] for name in ("model", "language", "kind", "method")),
        *cells,
        f"{line['p50_ms']:.1f}",
        f"{line['p95_ms']:.1f}",
    ]
