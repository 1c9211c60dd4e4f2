"""The operations that rates are computed from, and texts that are the same in every run."""

from pathlib import Path

import pytest

from bench import cases
from oracle import seeded


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return seeded.tiny(tmp_path_factory.mktemp("cases") / "tiny.gguf", layers=3, hidden=64, heads=4, ffn=128)


def test_operations_of_a_graph_counted_by_hand(tiny: Path) -> None:
    products = 3 * 2 * (64 * 64 * 4 + 64 * 128 * 2)  # a token
    attention = 3 * 2 * (64 + 64)  # a token and key: scores and sums of values
    assert cases.operations(tiny, [10]) == 10 * products + 100 * attention
    assert cases.operations(tiny, [10, 3]) == 13 * products + 109 * attention


def test_bytes_of_the_layers_are_all_but_tables(tiny: Path) -> None:
    matrices, vectors = 3 * 2 * (64 * 64 * 4 + 64 * 128 * 2), 3 * 4 * (64 * 4 + 128 + 64 + 4 * 64)
    assert cases.layer_bytes(tiny) == matrices + vectors


def test_texts_have_their_lengths_and_never_change() -> None:
    texts = cases.BGE_M3.texts([15, 2, 512])
    assert [len(ids) for ids in texts] == [15, 2, 512]
    assert all((ids[0], ids[-1]) == (0, 2) for ids in texts)
    assert texts == cases.BGE_M3.texts([15, 2, 512])


def test_every_model_has_a_short_and_a_long_case() -> None:
    for model in (cases.MINILM, cases.E5_SMALL, cases.BGE_M3):
        tokens = [case.tokens for case in cases.CASES if case.model is model]
        assert min(tokens) <= 16
        assert max(tokens) >= 2048
        assert 512 in tokens
    assert all(case.rounds >= 5 or case.tokens > 2048 for case in cases.CASES)
