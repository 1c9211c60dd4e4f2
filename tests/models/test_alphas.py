"""Only models that were measured weigh meaning more than words."""

import pytest

from bankml.models.alphas import alpha


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
