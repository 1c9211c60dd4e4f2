"""The FAQ in one language as a store would hold it, and what a query finds there: cosines and coverages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bankml import fusion, lexical
from bankml.evaluation.faq import Language
from bankml.evaluation.metrics import ndcg
from bankml.evaluation.model import Model
from bankml.evaluation.passages import Cut
from bankml.nearest import nearest
from bankml.terms import tokens

Floats = NDArray[np.float64]

SHOWN = 10  # results of a query
DEPTH = 30  # of each arm
OFF = 3  # best results of a query without an answer, which are not about it
ALPHA = 0.7  # of a model that knows the language


@dataclass(frozen=True, slots=True)
class Results:
    """What one query found, best first. `features`: (m, 2), cosine and coverage. `answers`: (m,), the one it is for.

    `pairs`: (k, 2), features of documents of which it is known whether they are `about` (k,) what was asked. Of a query
    with an answer the document that answers, wherever it ranks, and one far from it; of one without its `OFF` best.
    """

    features: Floats
    answers: NDArray[np.bool_]
    pairs: Floats
    about: NDArray[np.bool_]


class Shelf:
    """Documents by the number of their section; each is ranked by its best passage, by words as by meaning."""

    def __init__(self, language: Language, cut: Cut, model: Model) -> None:
        self.language, self._cut, self._model = language, cut, model
        self._ids = list(language.documents)
        self._matrix = model.documents(cut.texts)
        self._index = lexical.Index()
        self._index.extend(cut.texts)
        self._holding: dict[str, list[int]] = {}
        for passage, text in enumerate(self._cut.texts):
            for term in set(tokens(text)):
                self._holding.setdefault(term, []).append(passage)

    def results(self, queries: Sequence[str], answers: Sequence[str | None]) -> list[Results]:
        """Of each query, `SHOWN` at most, both arms fused; `answers`: the section that answers each, None for none."""
        vectors = self._model.queries(queries)
        return [self._results(*each) for each in zip(queries, vectors, answers, strict=True)]

    def _results(self, query: str, vector: NDArray[np.float32], answer: str | None) -> Results:
        cosines, scores, coverages = self._cosines(vector), self._scores(query), self.coverages(query)
        ranked = [number for number, _ in fusion.convex(_best(scores, 0.0), _best(cosines, -2.0), ALPHA)][:SHOWN]
        own = [number for number, id in enumerate(self._ids) if id == answer]
        told = own + _far(cosines, own) if own else ranked[:OFF]
        features = np.column_stack([cosines, coverages])
        return Results(features[ranked], np.isin(ranked, own), features[told], np.isin(told, own))

    def known(self, queries: Mapping[str, str]) -> bool:
        """Whether meaning finds as much as words: of the models that were measured, in the languages they know alone.

        By the mean nDCG@10 of `queries`, each by the id of the section that answers it.
        """
        by_words, by_meaning = 0.0, 0.0
        for (id, query), vector in zip(queries.items(), self._model.queries(list(queries.values())), strict=True):
            relevant = {self._ids.index(id)}
            by_words += ndcg(_best(self._scores(query), 0.0)[0], relevant)
            by_meaning += ndcg(_best(self._cosines(vector), -2.0)[0], relevant)
        return by_meaning >= by_words

    def coverages(self, query: str) -> Floats:
        """(documents,): the share, by idf over passages, of the query's terms that each holds; 0 of no terms.

        Terms that no passage holds count too: idf = ln(1 + (N - df + 0.5) / (df + 0.5)), as in BM25.
        """
        terms, total = list(dict.fromkeys(tokens(query))), len(self._cut.texts)
        held = np.zeros((len(terms), total), bool)
        for row, term in enumerate(terms):
            held[row, self._holding.get(term, [])] = True
        frequency = held.sum(axis=1)
        weights = np.log1p((total - frequency + 0.5) / (frequency + 0.5))
        whole = np.logical_or.reduceat(held, self._cut.starts, axis=1)
        return np.asarray(np.sum(weights[:, None] * whole, axis=0) / max(float(weights.sum()), 1e-12))

    def _cosines(self, vector: NDArray[np.float32]) -> Floats:
        rows, values = nearest(self._matrix, vector, len(self._matrix))
        return self._cut.best(_placed(rows, values, len(self._matrix)))

    def _scores(self, query: str) -> Floats:
        rows, values = self._index.search(query, len(self._index))
        return self._cut.best(_placed(rows, values, len(self._index)))


def _placed(rows: NDArray[np.int64], values: NDArray[np.floating], count: int) -> Floats:
    every = np.zeros(count)
    every[rows] = values
    return every


def _far(cosines: Floats, own: Sequence[int]) -> list[int]:
    """In the middle of the lower half of the others, by cosine: surely none of those that say nearly the same."""
    others = [int(number) for number in np.argsort(-cosines, kind="stable") if number not in own]
    return others[len(others) * 3 // 4 :][:1]


def _best(values: Floats, above: float) -> tuple[list[int], list[float]]:
    """The `DEPTH` largest, equals by number."""
    order = [int(number) for number in np.argsort(-values, kind="stable")[:DEPTH] if values[number] > above]
    return order, values[order].tolist()
