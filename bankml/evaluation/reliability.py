"""Whether predicted probabilities are true: what was predicted beside what came, and one number for all of it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bankml.evaluation.logistic import even

Floats = NDArray[np.float64]

BINS = 10


@dataclass(frozen=True, slots=True)
class Bin:
    """Of the predictions from `low` to `high`: how many there are, their mean, and the share that came true.

    Mean and share are at even odds: as if as many came true, of all, as did not.
    """

    low: float
    high: float
    count: int
    predicted: float
    observed: float


def brier(predicted: Floats, came: NDArray[np.bool_]) -> float:
    """The mean of (predicted - came)² at even odds (Brier, Monthly Weather Review 78, 1950).

    0 is perfect; who always says one half has 0.25.
    """
    return float(np.average((predicted - came) ** 2, weights=even(came)))


def table(predicted: Floats, came: NDArray[np.bool_], bins: int = BINS) -> list[Bin]:
    """Bins of equal width that hold any."""
    counting = even(came)
    number = np.minimum((predicted * bins).astype(int), bins - 1)
    return [
        Bin(one / bins, (one + 1) / bins, int(some.sum()), *_means(counting[some], predicted[some], came[some]))
        for one in range(bins)
        if (some := number == one).any()
    ]


def _means(counting: Floats, predicted: Floats, came: NDArray[np.bool_]) -> tuple[float, float]:
    return float(np.average(predicted, weights=counting)), float(np.average(came, weights=counting))
