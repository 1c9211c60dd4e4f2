"""The soak of a real server for two minutes (`make bench-soak` does half an hour), and what its verdict sees."""

import pytest

from bench import soak
from bench.soak import Figures

SLACK = 5e6  # bytes: in so short a time allocators of a process of 80 MB have not come to rest


@pytest.mark.timeout(600)
def test_a_server_that_is_used_and_abused_stays_as_it_was() -> None:
    found = soak.soaked(120)
    assert soak.broken(found, SLACK) == []
    assert found.answers > 20 <= len(found.resident)
    assert found.given_up > 3
    assert found.longest > 1000


def figures(**more: object) -> Figures:
    """Of a server that kept its promises: memory comes and goes above 100 MB."""
    resident = [100_000_000 + 10_000_000 * (k % 7) for k in range(100)]
    return Figures(**{"resident": resident, "descriptors": [8, 8], "threads": [13, 13], **more})  # type: ignore[arg-type]


def test_kept_promises_are_not_broken() -> None:
    assert soak.broken(figures()) == []
    warming = [50_000_000 + 2_500_000 * k for k in range(20)] + [100_000_000] * 80
    assert soak.broken(figures(resident=warming)) == []
    assert soak.broken(figures(threads=[12, 13])) == []  # the last of a pool


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ({"resident": [100_000_000 + 10_000_000 * (k % 7) + 150_000 * k for k in range(100)]}, "resident memory grew"),
        ({"descriptors": [8, 9]}, "8 descriptors at rest before, 9 after"),
        ({"threads": [13, 20]}, "13 threads at rest before, 20 after"),
        ({"wrong": ["500: no", "503: no"]}, "2 answers were wrong, the first: 500: no"),
    ],
)
def test_each_broken_promise_is_a_sentence(fault: dict[str, object], words: str) -> None:
    (sentence,) = soak.broken(figures(**fault))
    assert words in sentence


def test_slack_is_for_memory_alone() -> None:
    grown = figures(resident=[80_000_000] * 50 + [84_500_000] * 50)
    assert soak.broken(grown)
    assert soak.broken(grown, slack=SLACK) == []
    assert soak.broken(figures(threads=[13, 20]), slack=SLACK)
