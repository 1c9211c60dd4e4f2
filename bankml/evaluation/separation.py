"""How well a number tells two kinds apart: ROC, the area below it, and the best place to cut."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def auc(positives: Floats, negatives: Floats) -> float:
    """The chance that one of `positives` is larger than one of `negatives`, equals counting half.

    It is the area below the ROC (Hanley, McNeil, Radiology 143, 1982): Mann and Whitney's U over all pairs. NaN where
    one kind is missing.
    """
    if not len(positives) or not len(negatives):
        return float("nan")
    ordered = np.sort(negatives)
    below = np.searchsorted(ordered, positives, "left")
    through = np.searchsorted(ordered, positives, "right")
    return float(np.sum(below + through) / (2 * len(positives) * len(negatives)))


def roc(positives: Floats, negatives: Floats) -> list[tuple[float, float]]:
    """(false alarms, found) from (0, 0) to (1, 1): the shares of both kinds that are not below each value."""
    values = np.unique(np.concatenate([positives, negatives]))[::-1]
    points = [(_share(negatives, value), _share(positives, value)) for value in values]
    return [(0.0, 0.0), *points]


def cut(positives: Floats, negatives: Floats) -> float:
    """Where to cut: the place of the best balanced accuracy, the lowest of equals.

    Places are halfway between neighbouring values, and below all; `accuracy` is what they are compared by.
    """
    values = np.unique(np.concatenate([positives, negatives]))
    places = np.concatenate([values[:1], (values[:-1] + values[1:]) / 2])
    return float(places[np.argmax([accuracy(positives, negatives, place) for place in places])])


def accuracy(positives: Floats, negatives: Floats, place: float) -> float:
    """Balanced: (share of positives ≥ place + share of negatives < place) / 2; how many there are does not matter."""
    return (_share(positives, place) + 1 - _share(negatives, place)) / 2


def _share(values: Floats, least: float) -> float:
    return float(np.mean(values >= least))
