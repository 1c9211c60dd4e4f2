import pytest

from bankml.utf8 import printable, whole


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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain é 日本 😀 [red]", "plain é 日本 😀 [red]"),
        ("", ""),
        ("\x1b]0;t\x07\r\n\t\0", "\ufffd]0;t\ufffd\ufffd\ufffd\ufffd\ufffd"),
        ("\x1f \x7e\x7f\x80\x9b\x9f\xa0", "\ufffd \x7e\ufffd\ufffd\ufffd\ufffd\xa0"),
        ("\u200a\u200b\u200f\u2010", "\u200a\ufffd\ufffd\u2010"),
        ("\u2029\u202a\u202e\u202f", "\u2029\ufffd\ufffd\u202f"),
        ("\u2065\u2066\u2069\u206a\ufeff", "\u2065\ufffd\ufffd\u206a\ufffd"),
        (
            "\u061b\u061c\u061d \U000dffff\U000e0000\U000e0041\U000e007f\U000e0080",
            "\u061b\ufffd\u061d \U000dffff\ufffd\ufffd\ufffd\U000e0080",
        ),
        ("odd\udcff\ud800.gguf", "odd\ufffd\ufffd.gguf"),
    ],
)
def test_what_acts_on_a_terminal(text: str, expected: str) -> None:
    assert printable(text) == expected
