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


def test_what_a_terminal_would_obey_is_replaced() -> None:
    odd = [*range(0x20), *range(0x7F, 0xA0), *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
    for code in (*odd, 0xFEFF, 0xD800, 0xDFFF):
        assert printable(f"a{chr(code)}b") == "a\ufffdb", hex(code)
    plain = " ~\xa0é\u200a\u2010\u2029\u202f\u2065\u206a日😀\ufffd"
    assert printable(plain) == plain
