"""bench.nearest: what it measures fits together; the figures themselves are a run's."""

import numpy as np
import pytest

from bench import nearest

RUN = {
    "rows": 1000,
    "dims": 100,
    "threads": 2,
    "read": [1e9, 2e9, 1e9],
    "seconds": {"bankml f32": [5e-4, 2.5e-4, 4e-4], "numpy f32": [1e-3, 1e-3, 1e-3]},
    "bytes": {"bankml f32": 400_000, "numpy f32": 400_000},
    "recall": {"f32": 1.0},
    "sentences": 300,
    "sentences_recall": {"f32": 1.0},
}


def test_a_share_is_of_its_own_round() -> None:
    assert nearest.share(RUN, "bankml f32") == pytest.approx(0.8)


def test_a_run_is_a_table() -> None:
    lines = nearest.table(RUN).splitlines()
    assert lines[0].startswith("1,000 x 100, 10 nearest, 2 threads; memory read 1.0 GB/s")
    assert lines[-2] == "| bankml f32 | 0.4 | 1.0 | 80% | 1.000 | 1.000 |"


def test_every_search_finds_the_same_and_recall_is_counted() -> None:
    rows, queries = nearest.random_rows(2000, 128), nearest.random_rows(5, 128)
    kinds = nearest.stored(rows)
    for query in queries:
        found = [search.run(query) for name, search in nearest.searches(kinds).items() if "f32" in name]
        assert [list(each) for each in found] == [list(found[0])] * 2
    recall = nearest.recall(kinds, queries)
    assert recall["f32"] == 1
    assert 0.9 <= recall["f16"] <= 1
    assert 0.8 <= recall["int8"] <= 1
    swapped = nearest.recall(kinds | {"int8": nearest.Stored(np.ascontiguousarray(rows[::-1]))}, queries)
    assert swapped["int8"] < 0.2


def test_rounds_time_every_search() -> None:
    named = nearest.searches(nearest.stored(nearest.random_rows(100, 16)))
    found = nearest.rounds(named, 16, 2)
    assert set(found["seconds"]) == set(named)
    assert all(len(each) == 2 for each in [found["read"], *found["seconds"].values()])
