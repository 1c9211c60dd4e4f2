"""Logistic regression with a ridge, by Newton's method: small, exact, and the same in every run."""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from bankml.errors import InputError

Floats = NDArray[np.float64]

RIDGE = 1.0  # against weights without bound where a feature tells everything
STEPS = 100  # Newton's method takes some ten
ENOUGH = 1e-10  # of a step: the loss does not change any more
HALVINGS = 40


def even(labels: NDArray[np.bool_]) -> Floats:
    """(n,): how much each counts where both kinds shall count the same, 1 in the mean."""
    kinds = np.where(labels, labels.sum(), (~labels).sum())
    return np.asarray(len(labels) / (2.0 * kinds))


def fit(features: Floats, labels: NDArray[np.bool_], ridge: float = RIDGE, counting: Floats | None = None) -> Floats:
    """(1 + k,): the intercept, then the weights of `features` (n, k), that make the least `loss`.

    `counting`: (n,), how much each row counts, 1 by itself. The weights that `ridge` holds small are those of features
    scaled to a deviation of 1, so units do not matter. Hastie, Tibshirani, Friedman, The Elements of Statistical
    Learning (2009), 4.4.1 (iteratively reweighted least squares), with 3.4.1's penalty. Raises InputError where all
    labels are alike.
    """
    if labels.all() or not labels.any():
        raise InputError(f"{len(labels)} pairs are all alike: what is relevant and what is not are both needed")
    counting = np.ones(len(labels)) if counting is None else counting
    mean = np.average(features, axis=0, weights=counting)
    deviation = np.sqrt(np.average((features - mean) ** 2, axis=0, weights=counting))
    deviation = np.where(deviation > 0, deviation, 1.0)
    design = np.column_stack([np.ones(len(features)), (features - mean) / deviation])
    weights = _newton(design, labels.astype(np.float64), counting, ridge)
    slopes = weights[1:] / deviation
    return np.concatenate([[weights[0] - np.sum(slopes * mean)], slopes])


def probabilities(features: Floats, weights: Floats) -> Floats:
    """(n,): 1 / (1 + exp(-z)) of the fitted z."""
    return np.asarray(0.5 * (1 + np.tanh(0.5 * (weights[0] + np.sum(features * weights[1:], axis=1)))))


def loss(design: Floats, labels: Floats, counting: Floats, weights: Floats, ridge: float) -> float:
    """Σ counting · (log(1 + exp(z)) - y z) over the rows of `design`, and ridge / 2 · |weights but the first|²."""
    z = np.sum(design * weights, axis=1)
    return float(np.sum(counting * (np.logaddexp(0, z) - labels * z)) + ridge / 2 * np.sum(weights[1:] ** 2))


def _newton(design: Floats, labels: Floats, counting: Floats, ridge: float) -> Floats:
    weights = np.zeros(design.shape[1])
    held = np.full(design.shape[1], ridge)
    held[0] = 0.0
    before = loss(design, labels, counting, weights, ridge)
    for _ in range(STEPS):
        p = probabilities(design[:, 1:], weights)
        gradient = np.sum(design * (counting * (labels - p))[:, None], axis=0) - held * weights
        curvature = np.einsum("ni,nj->ij", design * (counting * p * (1 - p))[:, None], design) + np.diag(held)
        step = np.linalg.lstsq(curvature, gradient, rcond=None)[0]
        weights, after = _shortened(partial(loss, design, labels, counting, ridge=ridge), weights, step, before)
        if before - after <= ENOUGH * max(1.0, abs(before)):
            break
        before = after
    return weights


def _shortened(lost: Callable[[Floats], float], weights: Floats, step: Floats, before: float) -> tuple[Floats, float]:
    """The step, halved until it does not make the loss larger: a whole one may where the labels are parted."""
    for _ in range(HALVINGS):
        if (after := lost(weights + step)) <= before:
            return weights + step, after
        step = step / 2
    return weights, before
