"""How texts are split into llama.cpp's passes."""

from bench.engines import _passes

TEXTS = [[1] * 5, [2] * 5, [3] * 3, [4] * 20]


def test_a_pass_holds_what_fits_and_at_least_one_text() -> None:
    assert _passes(TEXTS, 1) == [[text] for text in TEXTS]
    assert [len(texts) for texts in _passes(TEXTS, 10)] == [2, 1, 1]
    assert [len(texts) for texts in _passes(TEXTS, 13)] == [3, 1]
    assert _passes(TEXTS, 1 << 20) == [TEXTS]
