"""Brier's score and the table, on what can be told by hand."""

import numpy as np
import pytest

from bankml.evaluation import reliability


def test_brier() -> None:
    came = np.array([True, False, True, False])
    assert reliability.brier(np.array([1.0, 0.0, 1.0, 0.0]), came) == 0
    assert reliability.brier(np.array([0.5, 0.1, 0.8, 0.0]), came) == pytest.approx((0.25 + 0.01 + 0.04) / 4)
    assert reliability.brier(np.full(4, 0.5), came) == 0.25
    assert reliability.brier(np.array([0.0, 0.2, 0.2]), np.array([True, False, False])) == pytest.approx(1.04 / 2)


def test_the_table_has_every_prediction_once() -> None:
    predicted, came = np.array([0.0, 0.05, 0.35, 0.31, 1.0, 1.0]), np.array([False, True, True, False, True, False])
    found = reliability.table(predicted, came)
    assert [(one.low, one.count, one.observed) for one in found] == [(0.0, 2, 0.5), (0.3, 2, 0.5), (0.9, 2, 0.5)]
    assert [one.predicted for one in found] == pytest.approx([0.025, 0.33, 1.0])


def test_the_table_is_at_even_odds() -> None:
    """Of one that came and three that did not, the one counts as much as all three."""
    (found,) = reliability.table(np.array([0.14, 0.1, 0.1, 0.12]), np.array([True, False, False, False]))
    assert (found.count, found.observed) == (4, pytest.approx(0.5))
    assert found.predicted == pytest.approx((0.14 + 0.32 / 3) / 2)
