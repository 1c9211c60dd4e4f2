import pytest

from bankml.utf8 import whole


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("plain é 😀", "plain é 😀"),
        ("odd\udcff.gguf", "odd\ufffd.gguf"),
        ("\ud83d\ude00", "😀"),  # a pair in two halves
        ({"\ud800": ["\udfff", 1, None, {"a": "\ud800"}]}, {"\ufffd": ["\ufffd", 1, None, {"a": "\ufffd"}]}),
    ],
)
def test_lone_surrogates(value: object, expected: object) -> None:
    assert whole(value) == expected
