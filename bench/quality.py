"""What is found: the Debian FAQ's questions, each answered by one section, in each library: nDCG@10.

A part of `python -m bench.library`. In each language the sections are texts and their titles the questions, as in
`bankml eval`; all libraries get the same vectors (with the model's prefixes) and their own words' ranking where they
have one. bankml's `fused` is what `bankml search` does with that model.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bankml import models
from bankml.encoder import Encoder
from bankml.evaluation import archive, faq, metrics, packages
from bankml.evaluation.faq import Language
from bankml.evaluation.model import Model
from bench import peers
from bench.job import Job
from bench.report import markdown
from oracle import cache

MODELS = {"all-minilm-l6-v2": ("en",), "multilingual-e5-small": faq.LANGUAGES}


def languages(codes: Sequence[str]) -> list[Language]:
    """The FAQ in these languages; its packages are fetched once."""
    folder = cache.folder() / "debian-faq-packages"
    folder.mkdir(parents=True, exist_ok=True)
    pages = {code: packages.kept(code, folder, archive.fetch) for code in dict.fromkeys([faq.ENGLISH, *codes])}
    sections = {code: faq.sections(found.pages, found.source) for code, found in pages.items()}
    return [faq.language(code, sections[code], sections[faq.ENGLISH]) for code in codes]


def figures(python: Path, wanted: Mapping[str, Sequence[str]] = MODELS) -> list[dict[str, Any]]:
    """A line for each model and language."""
    lines = []
    for name, codes in wanted.items():
        with Encoder(models.choose(name).path) as encoder:
            model = Model(encoder, cache.folder(), lambda *_: None)
            lines += [of(one, name, model, python) for one in languages(codes)]
    return lines


def of(language: Language, name: str, model: Model, python: Path) -> dict[str, Any]:
    """nDCG@10 and recall@10 of each library's searches in one language."""
    ids, queries = list(language.documents), list(language.queries.items())
    texts, asked = list(language.documents.values()), [text for _, text in queries]
    answers = [ids.index(id) for id, _ in queries]
    job = Job(texts, asked, name, language.code)
    found = peers.measured(job, model.documents(texts), model.queries(asked), python)
    return {
        "model": name,
        "language": language.code,
        "texts": len(texts),
        "questions": len(asked),
        "missing": peers.missing(found),
        "libraries": {library: _judged(each, answers) for library, each in found.items() if "stages" in each},
    }


def _judged(library: dict[str, Any], answers: Sequence[int]) -> dict[str, dict[str, float]]:
    """By what ranks; of several indexes of a library the first."""
    judged: dict[str, dict[str, float]] = {}
    for stage in library["stages"]:
        for kind, search in stage["searches"].items():
            judged.setdefault(kind, judge(search["found"], answers))
    return judged


def judge(found: Sequence[Sequence[int]], answers: Sequence[int]) -> dict[str, float]:
    """Means over the questions, each of which has one answer."""
    pairs = list(zip(found, answers, strict=True))
    return {
        "ndcg": float(np.mean([metrics.ndcg(ranked, {answer}) for ranked, answer in pairs])),
        "recall": float(np.mean([metrics.recall(ranked, {answer}) for ranked, answer in pairs])),
    }


def mean(lines: Sequence[dict[str, Any]], library: str, kind: str) -> float | None:
    """nDCG@10 of one model over its languages, each counting alike; None where the library has no such ranking."""
    values = [line["libraries"].get(library, {}).get(kind) for line in lines]
    return None if None in values else float(np.mean([value["ndcg"] for value in values]))


def table(lines: Sequence[dict[str, Any]]) -> str:
    """A line for each model and library: nDCG@10 by words, by meaning, fused; the mean over the model's languages."""
    rows = []
    for model in dict.fromkeys(line["model"] for line in lines):
        own = [line for line in lines if line["model"] == model]
        codes = ", ".join(line["language"] for line in own)
        questions = sum(line["questions"] for line in own)
        for library in own[0]["libraries"]:
            means = [mean(own, library, kind) for kind in peers.KINDS]
            cells = ["-" if value is None else f"{value:.3f}" for value in means]
            rows.append([model, codes, f"{questions:,}", library, *cells])
    return markdown(["model", "languages", "questions", "library", *(f"{kind}, nDCG@10" for kind in peers.KINDS)], rows)
