"""How strongly a curve's weights are held: as what was not fitted on is told best."""

import numpy as np
from numpy.typing import NDArray

from bankml.evaluation import logistic
from bankml.evaluation.logistic import RIDGE, Floats

RIDGES = (30.0, 10.0, 3.0, RIDGE)  # below 1 a half of MiniLM's questions, which is parted wholly, asks for a step


def chosen(features: Floats, labels: NDArray[np.bool_], second: NDArray[np.bool_]) -> float:
    """That of `RIDGES` with the least `held_out` loss, the largest of equals; `RIDGE` where a half has labels alike.

    `second`: (n,), of which half a row is. Where both kinds are parted wholly, less always fits better, until the curve
    is a step, and what was not seen may be parted, too: so there is a least one.
    """
    if len({(half, label) for half, label in zip(second.tolist(), labels.tolist(), strict=True)}) < 4:
        return RIDGE
    return min(RIDGES, key=lambda ridge: round(held_out(features, labels, second, ridge), 9))


def held_out(features: Floats, labels: NDArray[np.bool_], second: NDArray[np.bool_], ridge: float) -> float:
    """The mean log-loss of each half, both kinds at even odds, by the curve that was fitted on the other one."""
    losses = []
    for kept in (second, ~second):
        weights = logistic.fit(features[~kept], labels[~kept], ridge, logistic.even(labels[~kept]))
        z = weights[0] + np.sum(features[kept] * weights[1:], axis=1)
        losses.append(np.average(np.logaddexp(0, z) - labels[kept] * z, weights=logistic.even(labels[kept])))
    return float(np.mean(losses))
