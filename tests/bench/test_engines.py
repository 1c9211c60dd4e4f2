"""How texts are split into a peer's passes."""

from bench.engines import _equal, _passes

TEXTS = [[1] * 5, [2] * 5, [3] * 3, [4] * 20]


def test_a_pass_holds_what_fits_and_at_least_one_text() -> None:
    assert _passes(TEXTS, 1) == [[text] for text in TEXTS]
    assert [len(texts) for texts in _passes(TEXTS, 10)] == [2, 1, 1]
    assert [len(texts) for texts in _passes(TEXTS, 13)] == [3, 1]
    assert _passes(TEXTS, 1 << 20) == [TEXTS]


def test_onnx_runtimes_calls_hold_texts_of_one_length() -> None:
    assert [[len(ids) for ids in call] for call in _equal(TEXTS, 1 << 20)] == [[3], [5, 5], [20]]
    assert _equal([[1] * 3, [1] * 9, [2] * 3], 1 << 20)[-1] == [[1] * 3, [2] * 3]  # the last text is the last vector
