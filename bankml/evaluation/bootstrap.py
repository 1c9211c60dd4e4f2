"""How sure a mean, or the difference of two, is: the bootstrap over queries, the same draws for all that is compared.

Efron, Tibshirani, An Introduction to the Bootstrap (1993), 13.3: percentile intervals. Asked in ten languages a
question is still one question, so the draws are of questions, each with all its languages (a cluster bootstrap).
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 2_000
SEED = 20_020
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Interval:
    """A value and the interval that holds it with the probability `CONFIDENCE`."""

    mean: float
    low: float
    high: float


class Bootstrap:
    """The draws for values of certain questions; the same `questions`, `resamples` and `seed` give the same ones."""

    def __init__(self, questions: Sequence[Hashable], resamples: int = RESAMPLES, seed: int = SEED) -> None:
        distinct = {question: number for number, question in enumerate(dict.fromkeys(questions))}
        self._numbers = np.array([distinct[question] for question in questions], dtype=np.int64)
        self._sizes = np.bincount(self._numbers, minlength=len(distinct)).astype(np.float64)
        count = len(distinct)
        # How often each question was drawn, (resamples, questions).
        self._draws = np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), resamples)

    def interval(self, values: NDArray[np.float64]) -> Interval:
        """The mean of a value a query, float64 (n,), in the order of `questions`. Of differences: that they have."""
        sums = np.bincount(self._numbers, weights=values, minlength=len(self._sizes))
        means = (self._draws @ sums) / (self._draws @ self._sizes)
        low, high = np.quantile(means, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
        return Interval(float(values.mean()), float(low), float(high))
