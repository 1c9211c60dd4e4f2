"""The bench of searches, on small knowledge bases."""

import pytest

from bankml.embedders import choose
from bench import searches
from bench.nearest import random_rows
from bench.passages import passages, questions, stored


def test_a_small_store_is_searched(stocked_home, tmp_path) -> None:
    embedder, asked = choose(name=searches.MODEL), questions(["en"])[:6]
    store, ids = stored(tmp_path / "kb.db", embedder, passages(["en"], 60), random_rows(60, 384))
    assert len(set(ids)) == 60
    with store, store.reading() as db:
        assert db.execute("SELECT count(*) FROM chunks_vec").fetchone() == (60,)
        found = searches.warm(store, embedder, asked)
    assert {name: len(taken) for name, taken in found.items()} == dict.fromkeys(searches.ARMS, 3)
    assert searches.opened(tmp_path / "kb.db", asked[0]) > 0
    assert len(searches.cold(tmp_path / "kb.db", asked[:1])) == 1


def line(chunks: int, words: float) -> searches.Line:
    return {
        "chunks": chunks,
        "filling_seconds": 1.0,
        "bytes": {"kb.db": 2_000_000, "kb.db-wal": 1_000_000, "kb.db.matrix": 5_000_000},
        "opening": {"without matrix": 20.0, "with matrix": 2.0},
        "milliseconds": {"words": [words / 2, words, 900.0]},
        "resident_bytes": {"anon": 50_000_000, "file": 20_000_000},
    }


def test_the_tables() -> None:
    assert searches.table([line(100_000, 4)]).splitlines()[-1] == "| 100,000 | 4.0 (810.4) |"
    assert searches.room([line(1_000, 4)]).splitlines()[-1] == "| 1,000 | 1.0 | 3.0 | 5.0 | 20 | 2 | 70.0 | 20.0 |"


def test_growth_is_of_the_two_largest() -> None:
    assert searches.growth([line(100, 9)], "words") is None
    assert searches.growth([line(10_000, 20), line(100, 7), line(1_000, 1)], "words") == pytest.approx(2)
