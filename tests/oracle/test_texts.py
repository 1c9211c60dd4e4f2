"""The texts: enough of them, hard enough, and the same every time."""

import unicodedata

from oracle import texts
from oracle.texts import _split


def test_random_texts_are_many_and_always_the_same() -> None:
    found = texts.random()
    assert len(found) >= 5_000
    assert found == texts.random()


def test_random_texts_go_everywhere() -> None:
    found = texts.random()
    characters = set("".join(found))
    planes = {ord(c) >> 16 for c in characters}
    categories = {unicodedata.category(c) for c in characters}
    assert planes >= {0, 1, 2, 14, 15, 16}
    assert categories >= {"Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Cc", "Cf", "Co", "Cn", "Zs", "So"}
    assert {unicodedata.bidirectional(c) for c in characters} >= {"R", "AL"}
    assert any("\u200d" in text and "👩" in text for text in found)
    assert any(unicodedata.normalize("NFC", text) != text for text in found)
    assert any(0xFF61 <= ord(c) <= 0xFF9F for c in characters)
    assert any(len(word) > 100 for text in found for word in text.split())


def test_hard_texts_hold_what_xlmrs_character_map_treats_specially() -> None:
    found = set(texts.hard())
    for text in (
        "\t",
        "\u3000",
        "\ufffd",
        "\x01",
        "\x9f",
        "\0",
        "\ufe0f",
        "ﬁ",
        "\ufdfa",
        "\u1100\u1161",
        "\u1e9b\u0323",
    ):
        assert {text, f"a{text}b"} <= found


def test_a_page_becomes_sentences() -> None:
    head = "<html><head><title>T one</title></head>"
    page = f"{head}<body><p>It is\n <b>so</b>. Is it? </p><li>日本語。です\uff01</li>x</body>"
    assert _split(page) == ["T one", "It is so.", "Is it?", "日本語。", "です\uff01"]
