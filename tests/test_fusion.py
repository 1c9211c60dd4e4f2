"""Two rankings become one."""

import math
from fractions import Fraction
from itertools import combinations, pairwise, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bankml.errors import InputError
from bankml.fusion import RRF_K, convex, rrf

ids = st.lists(st.integers(0, 40), max_size=30, unique=True)
finite = st.floats(-1e6, 1e6)


@st.composite
def arms(draw: st.DrawFn) -> tuple[list[int], list[float]]:
    items = draw(ids)
    return items, sorted(draw(st.lists(finite, min_size=len(items), max_size=len(items))), reverse=True)


def test_worked_values() -> None:
    """First in one list, first in both, ranks 1 and 24, with the original's constant."""
    assert RRF_K == 60
    assert rrf([7], [])[0] == (7, pytest.approx(0.016393, abs=5e-7))
    assert rrf([7], [7])[0] == (7, pytest.approx(0.032787, abs=5e-7))
    assert dict(rrf([7], [*range(100, 123), 7]))[7] == pytest.approx(0.028298, abs=5e-7)


def test_ties_keep_the_words_order() -> None:
    assert [item for item, _ in rrf([5, 3], [3, 5])] == [5, 3]
    assert [item for item, _ in rrf([9, 1], [2, 8])] == [9, 2, 1, 8]
    assert [item for item, _ in rrf([], [4, 2])] == [4, 2]


@given(st.lists(ids, max_size=4), st.integers(0, 100))
def test_rrf_is_its_formula(rankings: list[list[int]], k: int) -> None:
    exact = {
        item: sum(Fraction(1, k + 1 + ranking.index(item)) for ranking in rankings if item in ranking)
        for item in dict.fromkeys(item for ranking in rankings for item in ranking)
    }
    fused = rrf(*rankings, k=k)
    assert dict(fused) == pytest.approx({item: float(score) for item, score in exact.items()}, rel=1e-15)
    assert [score for _, score in fused] == sorted((score for _, score in fused), reverse=True)
    assert sorted(dict(fused)) == sorted(exact)
    first_seen = list(exact)
    for (one, high), (other, low) in pairwise(fused):
        assert high > low or first_seen.index(one) < first_seen.index(other)


@given(st.lists(ids, min_size=3, max_size=3), st.permutations(range(3)))
def test_scores_do_not_depend_on_the_order_of_the_rankings(rankings: list[list[int]], order: list[int]) -> None:
    assert dict(rrf(*rankings)) == dict(rrf(*(rankings[i] for i in order)))


def test_the_first_place_counts_of_an_item_that_stands_twice() -> None:
    assert rrf([1, 1, 2], []) == rrf([1, 2], [])


def test_arrays_are_rankings_too() -> None:
    fused = rrf(np.array([3, 1]), np.array([1, 2]))
    assert fused == rrf([3, 1], [1, 2])
    assert all(type(item) is int for item, _ in fused)


@pytest.mark.parametrize("k", [-1, -0.5, math.inf, math.nan])
def test_a_constant_that_is_none(k: float) -> None:
    with pytest.raises(InputError, match="give a number of 0 or more"):
        rrf([1], k=k)


def test_convex_by_hand() -> None:
    words = ([10, 11, 12], [6.0, 3.0, 2.0])  # 1, 0.25, 0
    meaning = ([12, 13], [0.9, 0.5])  # 1, 0
    assert convex(words, meaning, 0.8) == [
        (12, pytest.approx(0.8)),
        (10, pytest.approx(0.2)),
        (11, pytest.approx(0.05)),
        (13, 0.0),
    ]


def test_an_arm_without_differences_gives_each_its_whole_weight() -> None:
    assert convex(([4], [2.5]), ([], []), 0.25) == [(4, 0.75)]
    assert convex(([4, 3], [2.5, 2.5]), ([3], [0.1]), 0.5) == [(3, 1.0), (4, 0.5)]
    assert convex(([], []), ([], []), 0.5) == []


@given(arms(), arms(), st.floats(0, 1))
def test_convex_lies_between_0_and_1_and_keeps_every_candidate(
    words: tuple[list[int], list[float]], meaning: tuple[list[int], list[float]], alpha: float
) -> None:
    fused = convex(words, meaning, alpha)
    assert sorted(item for item, _ in fused) == sorted({*words[0], *meaning[0]})
    assert all(0 <= score <= 1 for _, score in fused)
    assert [score for _, score in fused] == sorted((score for _, score in fused), reverse=True)


@given(arms(), arms())
def test_the_ends_of_alpha_are_the_arms(
    words: tuple[list[int], list[float]], meaning: tuple[list[int], list[float]]
) -> None:
    by_words = [item for item, _ in convex(words, meaning, 0)]
    assert [item for item in by_words if item in words[0]] == words[0]
    by_meaning = convex(([], []), meaning, 1)
    assert [item for item, _ in by_meaning] == meaning[0]


@given(st.lists(st.integers(-1000, 1000), max_size=30), st.floats(0, 1), st.sampled_from([0.25, 2.0, 64.0]))
def test_an_arms_scale_and_offset_do_not_count(scores: list[int], alpha: float, factor: float) -> None:
    """Powers of two and whole numbers, so that nothing is rounded."""
    items, meaning = range(len(scores)), ([3, 99], [0.5, 0.25])
    moved = [score * factor + 7 for score in scores]
    assert convex((items, moved), meaning, alpha) == convex((items, scores), meaning, alpha)


@pytest.mark.parametrize("alpha", [-0.1, 1.1, math.nan])
def test_an_alpha_that_is_none(alpha: float) -> None:
    with pytest.raises(InputError, match="from 0"):
        convex(([], []), ([], []), alpha)


@pytest.mark.parametrize("scores", [[math.nan, 1.0], [math.inf, 1.0], [1e308, -1e308]])
def test_scores_that_cannot_be_compared(scores: list[float]) -> None:
    with pytest.raises(InputError, match="meaning: a score is not finite"):
        convex(([], []), ([1, 2], scores), 0.5)


def test_a_score_for_each_item() -> None:
    with pytest.raises(InputError, match="words: 2 items and 1 scores"):
        convex(([1, 2], [0.5]), ([], []), 0.5)


def test_equal_ranks_in_another_order_are_equal_scores() -> None:
    """Plain sums of three differ in the last bit for some of these, and the tie would be lost."""
    for ranks in combinations(range(1, 25), 3):
        found = {dict(rrf(*([*range(1 - rank, 0), 7] for rank in order)))[7] for order in permutations(ranks)}
        assert len(found) == 1, ranks
