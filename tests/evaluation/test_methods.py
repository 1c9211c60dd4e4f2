"""What the methods make of two arms."""

import pytest

from bankml.evaluation import methods

WORDS = ([3, 1, 2], [9.0, 5.0, 1.0])
MEANING = ([1, 4, 3], [0.9, 0.8, 0.1])


@pytest.mark.parametrize(
    ("method", "ranked"),
    [
        (methods.WORDS, [3, 1, 2]),
        (methods.MEANING, [1, 4, 3]),
        # 1: 1/62 + 1/61; 3: 1/61 + 1/63; 4: 1/62; 2: 1/63
        (methods.RRF_60, [1, 3, 4, 2]),
        # 1: 1/4 + 1/3; 3: 1/3 + 1/5; 4: 1/4; 2: 1/5
        (methods.RRF_2, [1, 3, 4, 2]),
        # Scaled words: 3 1, 1 0.5, 2 0; meaning: 1 1, 4 0.875, 3 0.
        (methods.convex(0.2), [3, 1, 4, 2]),
        (methods.convex(0.9), [1, 4, 3, 2]),
    ],
)
def test_a_ranking(method: methods.Method, ranked: list[int]) -> None:
    assert list(method.rank(WORDS, MEANING)) == ranked


def test_an_empty_arm_leaves_the_other() -> None:
    for method in (methods.RRF_60, methods.RRF_2, *methods.CONVEX):
        assert list(method.rank(([], []), MEANING)) == [1, 4, 3], method.name


def test_names_are_apart() -> None:
    names = [method.name for method in methods.METHODS]
    assert len(set(names)) == len(names) == 15
    assert methods.convex(0.7).name in names
