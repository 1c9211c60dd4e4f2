"""The error function in double precision, vectorised with numpy alone."""

import math

import numpy as np
from numpy.typing import NDArray

STEP, LIMIT, TERMS = 1 / 64, 6.0, 9  # beyond 6, erf is 1 in double precision; (1/128)^9 / 9! is far below 2^-53


def _taylor_coefficients() -> NDArray[np.float64]:
    """Row i: the Taylor coefficients of erf about i·STEP, by Hermite's recurrence for the derivatives of exp(-x²)."""
    nodes = np.arange(round(LIMIT / STEP) + 2) * STEP
    table = np.empty((len(nodes), TERMS))
    table[:, 0] = [math.erf(node) for node in nodes]
    factor = 2 / math.sqrt(math.pi) * np.exp(-nodes * nodes)
    before, hermite = np.zeros_like(nodes), np.ones_like(nodes)
    for k in range(1, TERMS):
        table[:, k] = factor * hermite * (-1) ** (k - 1) / math.factorial(k)
        before, hermite = hermite, 2 * nodes * hermite - 2 * (k - 1) * before
    return table


TABLE = _taylor_coefficients()


def erf(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """erf of every element, within 3e-16 of math.erf: a Taylor polynomial about the nearest node of a table."""
    size = np.minimum(np.abs(x), LIMIT)
    node = np.rint(size / STEP).astype(np.intp)
    offset = size - node * STEP
    value = TABLE[node, TERMS - 1]
    for k in range(TERMS - 2, -1, -1):
        value *= offset
        value += TABLE[node, k]
    signed: NDArray[np.float64] = np.copysign(value, x)
    return signed
