"""Vectors of queries: embedded once, the latest remembered."""

from pathlib import Path

import pytest

from bankml.embedders import choose
from bankml.embedders.queries import QueryVectors
from bankml.errors import BusyError
from oracle import seeded


@pytest.fixture
def queries(tmp_path: Path) -> QueryVectors:
    return QueryVectors(choose(name=seeded.tiny(tmp_path / "tiny.gguf")), 3)


def test_a_query_is_embedded_once(queries: QueryVectors) -> None:
    assert queries.known("sky") is None
    vector = queries.vector(" sky\n")
    assert queries.vector("sky") is vector
    assert queries.known("\tsky") is vector
    with pytest.raises(ValueError, match="read-only"):
        vector[0] = 1


def test_it_is_cut_at_4000_characters(queries: QueryVectors) -> None:
    assert queries.vector("é" * 4000) is queries.vector("é" * 4001)
    assert queries.vector("é" * 3999) is not queries.vector("é" * 4000)


def test_the_latest_are_remembered(queries: QueryVectors) -> None:
    first = queries.vector("1")
    for query in "23":
        queries.vector(query)
    assert queries.vector("1") is first
    queries.vector("4")
    assert [queries.known(query) is not None for query in "1234"] == [True, False, True, True]


def test_a_known_one_needs_no_turn(queries: QueryVectors) -> None:
    vector = queries.vector("sky")
    with queries.embedder._queries.taken():
        assert queries.vector("sky") is vector
        with pytest.raises(BusyError):
            queries.vector("sea")
    queries.vector("sea")
