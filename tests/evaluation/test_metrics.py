"""Metrics against values worked by hand, and against their definitions written otherwise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bankml.evaluation import metrics


@pytest.mark.parametrize(
    ("ranked", "relevant", "recall", "reciprocal", "ndcg"),
    [
        ([7, 8, 9], {7}, 1, 1, 1),
        ([8, 7, 9], {7}, 1, 1 / 2, 0.6309297535714575),  # 1 / log2(3)
        ([8, 9, 7], {7}, 1, 1 / 3, 1 / 2),  # 1 / log2(4)
        ([1, 2, 3, 4, 5, 6, 8, 9, 10, 7], {7}, 1, 1 / 10, 0.2890648263178879),  # 1 / log2(11)
        ([1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 7], {7}, 0, 1 / 11, 0),  # one too late for the first ten
        ([1, 2, 3], {7}, 0, 0, 0),
        ([], {7}, 0, 0, 0),
        ([1, 2, 3], set(), 0, 0, 0),
        # Two of three, at ranks 1 and 3: (1 + 1/2) / (1 + 0.63093 + 1/2).
        ([5, 1, 6], {5, 6, 7}, 2 / 3, 1, 0.7039180890341347),
    ],
)
def test_by_hand(ranked: list[int], relevant: set[int], recall: float, reciprocal: float, ndcg: float) -> None:
    assert metrics.recall(ranked, relevant) == pytest.approx(recall, abs=1e-12)
    assert metrics.reciprocal_rank(ranked, relevant) == pytest.approx(reciprocal, abs=1e-12)
    assert metrics.ndcg(ranked, relevant) == pytest.approx(ndcg, abs=1e-12)


@given(st.permutations(range(30)), st.sets(st.integers(0, 40), min_size=1), st.integers(1, 35))
def test_as_vectors_of_gains(ranked: list[int], relevant: set[int], k: int) -> None:
    """The same from a row of gains, as trec_eval and scikit-learn compute them."""
    gains = np.isin(ranked, list(relevant)).astype(float)
    discounts = 1 / np.log2(np.arange(len(ranked)) + 2)
    ideal = np.sort(np.pad(np.ones(len(relevant)), (0, 41)))[::-1][:k]
    best = ideal @ (1 / np.log2(np.arange(len(ideal)) + 2))
    assert metrics.ndcg(ranked, relevant, k) == pytest.approx(gains[:k] @ discounts[:k] / best)
    assert metrics.recall(ranked, relevant, k) == pytest.approx(gains[:k].sum() / len(relevant))
    first = np.flatnonzero(gains)
    assert metrics.reciprocal_rank(ranked, relevant) == pytest.approx(1 / (first[0] + 1) if len(first) else 0)
