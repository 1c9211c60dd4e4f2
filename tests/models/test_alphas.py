"""Only models that were measured weigh meaning more than words."""

import pytest

from bankml.models.alphas import alpha, knows


@pytest.mark.parametrize(
    ("model", "english", "expected"),
    [
        ("all-MiniLM-L6-v2", True, 0.7),
        ("all-minilm", True, 0.7),
        ("all-minilm-l6-v2", False, 0.5),
        ("multilingual-e5-small", False, 0.7),
        ("e5-small", True, 0.7),
        ("bge-m3", True, 0.5),
        ("somebody/else", True, 0.5),
    ],
)
def test_alpha(model: str, english: bool, expected: float) -> None:
    assert alpha(model, english) == expected


def test_which_languages_a_model_is_known_to_know() -> None:
    assert [knows("all-minilm", language) for language in ("en", "de")] == [True, False]
    assert [knows("e5-small", language) for language in ("en", "de")] == [True, True]
    assert knows("bge-m3", "de") is None
