"""Logistic regression with a ridge, by Newton's method: small, exact, and the same in every run."""

import numpy as np
from numpy.typing import NDArray

from bankml.errors import InputError

Floats = NDArray[np.float64]

RIDGE = 1.0  # against weights without bound where a feature tells everything; it moves those of the FAQ by 4 % at most
STEPS = 100  # Newton's method takes some ten
ENOUGH = 1e-10  # of a step: the loss does not change any more
HALVINGS = 40


def fit(features: Floats, labels: NDArray[np.bool_], ridge: float = RIDGE) -> Floats:
    """(1 + k,): the intercept, then the weights of `features` (n, k), that make the least `loss`.

    The weights that `ridge` holds small are those of features scaled to a deviation of 1, so units do not matter.
    Hastie, Tibshirani, Friedman, The Elements of Statistical Learning (2009), 4.4.1 (iteratively reweighted least
    squares), with 3.4.1's penalty. Raises InputError where all labels are alike.
    """
    if labels.all() or not labels.any():
        raise InputError(f"{len(labels)} pairs are all alike: what is relevant and what is not are both needed")
    mean, deviation = features.mean(axis=0), features.std(axis=0)
    deviation = np.where(deviation > 0, deviation, 1.0)
    design = np.column_stack([np.ones(len(features)), (features - mean) / deviation])
    weights = _newton(design, labels.astype(np.float64), ridge)
    slopes = weights[1:] / deviation
    return np.concatenate([[weights[0] - np.sum(slopes * mean)], slopes])


def probabilities(features: Floats, weights: Floats) -> Floats:
    """(n,): 1 / (1 + exp(-z)) of the fitted z."""
    return np.asarray(0.5 * (1 + np.tanh(0.5 * (weights[0] + np.sum(features * weights[1:], axis=1)))))


def loss(design: Floats, labels: Floats, weights: Floats, ridge: float) -> float:
    """Σ log(1 + exp(z)) - y z over the rows of `design`, and ridge / 2 · |weights but the first|²."""
    z = np.sum(design * weights, axis=1)
    return float(np.sum(np.logaddexp(0, z) - labels * z) + ridge / 2 * np.sum(weights[1:] ** 2))


def _newton(design: Floats, labels: Floats, ridge: float) -> Floats:
    weights = np.zeros(design.shape[1])
    held = np.full(design.shape[1], ridge)
    held[0] = 0.0
    before = loss(design, labels, weights, ridge)
    for _ in range(STEPS):
        p = probabilities(design[:, 1:], weights)
        gradient = np.sum(design * (labels - p)[:, None], axis=0) - held * weights
        curvature = np.einsum("ni,nj->ij", design * (p * (1 - p))[:, None], design) + np.diag(held)
        step = np.linalg.lstsq(curvature, gradient, rcond=None)[0]
        weights, after = _shortened(design, labels, weights, step, before, ridge)
        if before - after <= ENOUGH * max(1.0, abs(before)):
            break
        before = after
    return weights


def _shortened(
    design: Floats, labels: Floats, weights: Floats, step: Floats, before: float, ridge: float
) -> tuple[Floats, float]:
    """The step, halved until it does not make the loss larger: a whole one may where the labels are parted."""
    for _ in range(HALVINGS):
        if (after := loss(design, labels, weights + step, ridge)) <= before:
            return weights + step, after
        step = step / 2
    return weights, before
