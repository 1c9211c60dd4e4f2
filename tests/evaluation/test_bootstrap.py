"""Intervals: their draws, their width, and what is drawn together."""

import numpy as np
import pytest

from bankml.evaluation.bootstrap import Bootstrap

RANDOM = np.random.default_rng(7)


def test_the_same_seed_gives_the_same_interval() -> None:
    values = RANDOM.random(50)
    first, second, other = (Bootstrap(range(50), 500, seed).interval(values) for seed in (1, 1, 2))
    assert first == second != other
    assert first.mean == pytest.approx(values.mean())
    assert first.low < first.mean < first.high


def test_equal_values_leave_no_doubt() -> None:
    one = Bootstrap(range(20)).interval(np.full(20, 0.25))
    assert (one.mean, one.low, one.high) == pytest.approx((0.25, 0.25, 0.25))


def test_the_width_is_that_of_a_normal_mean() -> None:
    """1.96 standard errors each way, for a mean of many values."""
    values = RANDOM.normal(size=4_000)
    one = Bootstrap(range(4_000), 1_000).interval(values)
    assert one.high - one.low == pytest.approx(2 * 1.96 * values.std() / np.sqrt(4_000), rel=0.1)


def test_a_difference_is_surer_than_its_parts() -> None:
    """Both of a pair are drawn together: a small gain on every query is sure, however much queries differ."""
    values = RANDOM.random(100)
    bootstrap = Bootstrap(range(100))
    gain = bootstrap.interval(values + 0.01 - values)
    assert gain.low == pytest.approx(0.01)
    assert bootstrap.interval(values).low < values.mean() - 0.02


def test_a_question_is_drawn_with_all_its_languages() -> None:
    """Ten copies of each query know no more than one."""
    values = RANDOM.random(40)
    once = Bootstrap(list(range(40))).interval(values)
    tenfold = Bootstrap(list(range(40)) * 10).interval(np.tile(values, 10))
    assert (tenfold.low, tenfold.high) == pytest.approx((once.low, once.high))
    apart = Bootstrap(list(range(400))).interval(np.tile(values, 10))
    assert apart.high - apart.low < 0.5 * (once.high - once.low)


def test_against_draws_one_by_one() -> None:
    """The same quantiles as a plain loop over resampled questions, to the noise of 4,000 draws."""
    questions = [0, 0, 1, 2, 2, 2, 3, 4, 5, 6, 7, 8, 9]
    values = RANDOM.random(len(questions))
    found = Bootstrap(questions, 4_000).interval(values)
    groups = [values[np.array(questions) == question] for question in range(10)]
    means = [np.concatenate([groups[g] for g in RANDOM.integers(0, 10, 10)]).mean() for _ in range(4_000)]
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(means, [0.025, 0.975])), abs=0.02)
