"""Each method's metrics for the queries of one language and the documents of one language."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bankml.evaluation import metrics
from bankml.evaluation.collection import Collection, Queries
from bankml.evaluation.methods import METHODS, Arm, Method

METRICS = (f"recall@{metrics.TOP}", "MRR", f"nDCG@{metrics.TOP}")


@dataclass(frozen=True)
class Measured:
    """`values` of each query, float64 (queries, methods, METRICS); `ids` are the queries', so the questions'."""

    queries: str  # their language
    documents: str  # their language
    ids: tuple[str, ...]
    values: NDArray[np.float64]


def measure(
    queries: Queries,
    collection: Collection,
    words: Sequence[Arm],
    meaning: Sequence[Arm],
    methods: Sequence[Method] = METHODS,
) -> Measured:
    """The arms are those of each of `queries`; one without its document in `collection` does not count."""
    kept = [number for number, id in enumerate(queries.ids) if id in collection.numbers]
    values = np.zeros((len(kept), len(methods), len(METRICS)))
    for row, number in enumerate(kept):
        relevant = {collection.numbers[queries.ids[number]]}
        for column, method in enumerate(methods):
            values[row, column] = judged(method.rank(words[number], meaning[number]), relevant)
    return Measured(queries.language, collection.language, tuple(queries.ids[number] for number in kept), values)


def judged(ranked: Sequence[int], relevant: set[int]) -> tuple[float, float, float]:
    """The METRICS of one ranking."""
    return (
        metrics.recall(ranked, relevant),
        metrics.reciprocal_rank(ranked, relevant),
        metrics.ndcg(ranked, relevant),
    )
