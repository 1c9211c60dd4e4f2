"""What is held by how much, beside a definition in loops."""

import numpy as np
import pytest

from bankml.evaluation import logistic, ridge


def some(apart: float, seed: int = 5, count: int = 60) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    chance = np.random.default_rng(seed)
    labels = np.arange(count) % 3 == 0
    features = chance.normal(0, 1, (count, 2)) + apart * labels[:, None]
    return features, labels, np.arange(count) // 3 % 2 == 1


def test_held_out_is_the_loss_of_what_was_not_seen() -> None:
    features, labels, second = some(1.0)
    losses = []
    for kept, others in ((second, ~second), (~second, second)):
        weights = logistic.fit(features[others], labels[others], 0.3, logistic.even(labels[others]))
        p = logistic.probabilities(features[kept], weights)
        kinds = (-np.log(p[labels[kept]]), -np.log(1 - p[~labels[kept]]))
        losses.append(np.mean([kind.mean() for kind in kinds]))
    assert ridge.held_out(features, labels, second, 0.3) == pytest.approx(np.mean(losses))


@pytest.mark.parametrize("apart", [0.0, 1.0, 4.0])
def test_none_of_the_others_is_better(apart: float) -> None:
    features, labels, second = some(apart)
    found = ridge.chosen(features, labels, second)
    least = ridge.held_out(features, labels, second, found)
    assert all(ridge.held_out(features, labels, second, other) >= least - 1e-9 for other in ridge.RIDGES)


def test_noise_is_held_strongly_and_a_clear_case_weakly() -> None:
    assert ridge.chosen(*some(0.0)) > ridge.chosen(*some(4.0))


def test_parts_of_one_kind_have_the_usual_one() -> None:
    features, labels, _ = some(1.0)
    assert ridge.chosen(features, labels, labels) == logistic.RIDGE
    assert ridge.chosen(features, labels, np.zeros(60, bool)) == logistic.RIDGE
