"""Latencies of the last minute."""

import pytest

from bankml.serve.recent import MOST, WINDOW, Recent


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_nothing_has_no_quantiles():
    assert Recent().quantiles(0.5, 0.95) == [None, None]


@pytest.mark.parametrize(("share", "expected"), [(0.0, 1), (0.5, 51), (0.95, 96), (1.0, 100)])
def test_quantiles_in_any_order_of_arrival(share, expected):
    recent = Recent()
    for seconds in [*range(100, 0, -2), *range(1, 100, 2)]:
        recent.add(seconds)
    assert recent.quantiles(share) == [expected]


def test_what_is_older_than_the_window_does_not_count():
    clock = Clock()
    recent = Recent(clock)
    recent.add(9)
    clock.now += WINDOW
    assert recent.quantiles(0.5) == [9]
    clock.now += 1
    recent.add(1)
    assert recent.quantiles(0.5, 1.0) == [1, 1]
    assert recent.total == 2


def test_memory_is_bounded():
    recent = Recent()
    for seconds in range(3 * MOST):
        recent.add(seconds)
    assert recent.quantiles(0.0) == [2 * MOST]
    assert recent.total == 3 * MOST
