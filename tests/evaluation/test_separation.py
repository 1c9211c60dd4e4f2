"""The ROC, the area below it and the place to cut, beside their definitions."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bankml.evaluation import separation

values = st.lists(st.integers(-5, 5).map(lambda number: number / 4), min_size=1, max_size=30).map(np.array)


@given(values, values)
def test_auc_is_the_share_of_pairs_in_order(positives: np.ndarray, negatives: np.ndarray) -> None:
    pairs = [(a > b) + (a == b) / 2 for a in positives for b in negatives]
    assert separation.auc(positives, negatives) == pytest.approx(np.mean(pairs))


@given(values, values)
def test_auc_is_the_area_below_the_roc(positives: np.ndarray, negatives: np.ndarray) -> None:
    points = np.array(separation.roc(positives, negatives))
    assert points[0].tolist() == [0, 0]
    assert points[-1].tolist() == [1, 1]
    area = np.sum(np.diff(points[:, 0]) * (points[1:, 1] + points[:-1, 1]) / 2)
    assert separation.auc(positives, negatives) == pytest.approx(area)


@given(values, values)
def test_no_place_is_better_than_the_cut(positives: np.ndarray, negatives: np.ndarray) -> None:
    own = separation.accuracy(positives, negatives, separation.cut(positives, negatives))
    assert own >= 0.5
    for place in np.arange(-1.5, 1.6, 0.125):
        assert own >= separation.accuracy(positives, negatives, place) - 1e-12


def test_the_cut_is_halfway_and_the_lowest_of_equals() -> None:
    assert separation.cut(np.array([0.6, 0.8]), np.array([0.1, 0.2])) == pytest.approx(0.4)
    # 0.3 loses a positive, 0.45 gains a negative: cutting at 0.2 and at 0.4 is equally good
    assert separation.cut(np.array([0.3, 0.5, 0.6]), np.array([0.1, 0.4, 0.2])) == pytest.approx(0.25)
    assert math.isnan(separation.auc(np.array([]), np.array([0.1])))
