"""erf in double precision."""

import math

import numpy as np

from oracle.erf import erf


def test_erf_is_the_c_librarys_within_three_ulp() -> None:
    x = np.concatenate(
        [np.random.default_rng(0).normal(0, 2, 100_000), np.linspace(-7, 7, 5_001), [1e-300, -0.0, 1e300]]
    )
    expected = np.array([math.erf(value) for value in x])
    assert np.abs(erf(x) - expected).max() <= 3.4e-16


def test_erf_is_odd_and_keeps_the_shape() -> None:
    x = np.linspace(-3, 3, 60).reshape(3, 20)
    assert np.array_equal(erf(-x), -erf(x))
    assert erf(x).shape == (3, 20)
