"""Whether predicted probabilities are true: what was predicted beside what came, and one number for all of it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

BINS = 10


@dataclass(frozen=True, slots=True)
class Bin:
    """Of the predictions from `low` to `high`: how many there are, their mean, and the share that came true."""

    low: float
    high: float
    count: int
    predicted: float
    observed: float


def brier(predicted: Floats, came: NDArray[np.bool_]) -> float:
    """The mean of (predicted - came)²: 0 is perfect (Brier, Monthly Weather Review 78, 1950)."""
    return float(np.mean((predicted - came) ** 2))


def base(came: NDArray[np.bool_]) -> float:
    """The Brier score of who always predicts the mean: p (1 - p)."""
    return float(came.mean() * (1 - came.mean()))


def table(predicted: Floats, came: NDArray[np.bool_], bins: int = BINS) -> list[Bin]:
    """Bins of equal width that hold any."""
    number = np.minimum((predicted * bins).astype(int), bins - 1)
    return [
        Bin(one / bins, (one + 1) / bins, int(some.sum()), float(predicted[some].mean()), float(came[some].mean()))
        for one in range(bins)
        if (some := number == one).any()
    ]
