"""Newton's method beside a search of all weights on ever finer grids."""

import itertools
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bankml.errors import InputError
from bankml.evaluation import logistic


def best_of_grids(design: np.ndarray, labels: np.ndarray, counting: np.ndarray, ridge: float) -> np.ndarray:
    """Weights of the least loss: 9 values of each, around the best so far, 40 times, ever nearer."""
    centre, width = np.zeros(design.shape[1]), 8.0
    for _ in range(60):
        around = itertools.product(*(np.linspace(one - width, one + width, 5) for one in centre))
        centre = np.array(min(around, key=lambda some: logistic.loss(design, labels, counting, np.array(some), ridge)))
        width *= 0.7
    return centre


@pytest.mark.parametrize("seed", range(4))
def test_the_optimum_of_a_search_of_all_weights(seed: int) -> None:
    chance = np.random.default_rng(seed)
    features = chance.normal([0.5, 0.3], [0.1, 0.2], (60, 2))
    labels = chance.random(60) < 1 / (1 + np.exp(-8 * (features[:, 0] - 0.5) - 3 * (features[:, 1] - 0.4)))
    counting = chance.uniform(0.2, 3, 60)
    found = logistic.fit(features, labels, 0.7, counting)
    mean = counting @ features / counting.sum()
    deviation = np.sqrt(counting @ (features - mean) ** 2 / counting.sum())
    design = np.column_stack([np.ones(60), (features - mean) / deviation])
    slopes = found[1:] * deviation
    ours = np.array([found[0] + found[1:] @ mean, *slopes])
    assert np.allclose(ours, best_of_grids(design, labels.astype(float), counting, 0.7), atol=1e-4)


def test_it_finds_what_made_the_labels() -> None:
    chance = np.random.default_rng(7)
    features = chance.uniform(-1, 1, (40_000, 2))
    weights = np.array([-1.0, 4.0, 2.0])
    labels = chance.random(40_000) < logistic.probabilities(features, weights)
    assert np.allclose(logistic.fit(features, labels), weights, atol=0.15)


def test_what_is_parted_wholly_has_weights_that_are_finite() -> None:
    found = logistic.fit(np.array([[0.1], [0.2], [0.8], [0.9]]), np.array([False, False, True, True]))
    assert np.isfinite(found).all()
    assert found[1] > 0
    assert np.isfinite(logistic.fit(np.array([[0.5], [0.5]]), np.array([False, True]))).all()


def test_labels_that_are_all_alike_are_refused() -> None:
    for label in (True, False):
        with pytest.raises(InputError, match="are all alike"):
            logistic.fit(np.zeros((3, 1)), np.full(3, label))


@given(st.lists(st.tuples(st.floats(-1, 1), st.floats(0, 1), st.booleans()), min_size=2, max_size=30))
@settings(max_examples=50)
def test_no_step_aside_is_better(rows: list[tuple[float, float, bool]]) -> None:
    features, labels = np.array([row[:2] for row in rows]), np.array([row[2] for row in rows])
    if labels.all() or not labels.any():
        return
    first, second = logistic.fit(features, labels), logistic.fit(features, labels)
    assert first.tobytes() == second.tobytes()
    deviation = np.where(features.std(axis=0) > 0, features.std(axis=0), 1.0)
    design = np.column_stack([np.ones(len(rows)), (features - features.mean(axis=0)) / deviation])
    own = np.array([first[0] + first[1:] @ features.mean(axis=0), *(first[1:] * deviation)])
    lost = partial(logistic.loss, design, labels.astype(float), np.ones(len(rows)), ridge=logistic.RIDGE)
    for step in itertools.product((-0.01, 0, 0.01), repeat=3):
        assert lost(own + step) >= lost(own) - 1e-9


def test_even_odds_are_those_of_repeated_rows() -> None:
    chance = np.random.default_rng(3)
    features, labels = chance.normal(size=(30, 2)), np.arange(30) < 10
    counted = logistic.fit(features, labels, 0.5, logistic.even(labels))
    twice = np.concatenate([np.flatnonzero(labels), np.arange(30)])
    assert logistic.even(labels[twice]).tolist() == [1.0] * 40
    assert logistic.even(labels).sum() == pytest.approx(30)
    assert np.allclose(counted, logistic.fit(features[twice], labels[twice], 0.5 * 40 / 30))
