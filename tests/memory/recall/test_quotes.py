"""What a query quotes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bankml.memory.recall.quotes import Quotes

TEXT = "The vault opens to whoever hums the tune, slowly, of the light-house keeper.\n\nNobody else."


@pytest.mark.parametrize(
    "query",
    [
        "whoever hums the tune",
        "  WHOEVER hums… the TUNE?",
        "hums the tune, slowly, of the light-house keeper. Nobody else",
        "oever hums the tune slowly of the light house keep",  # cut within its first and last word
        'who said "the tune, slowly" to whom?',
        "wer sagt \u201ehums the tune\u201c hier",
        "ce \u00ab vault opens \u00bb",
    ],
)
def test_a_quote(query: str) -> None:
    assert Quotes.of(query).stand_in(TEXT)


@pytest.mark.parametrize(
    "query",
    [
        "hums the tune",  # three words stand together by chance
        "whoever hums a tune",
        "hever hums the tun",
        "the tune of the keeper",
        'who "hums"',
        'who "hums a tune" there',
        "",
        '""',
        '"',
        "?! …",
    ],
)
def test_none(query: str) -> None:
    assert not Quotes.of(query).stand_in(TEXT)


def test_words_that_are_not_parted_by_spaces() -> None:
    assert Quotes.of("知识库中的记录").stand_in("我们保存知识库中的记录。")
    assert not Quotes.of("知识库外的记录").stand_in("我们保存知识库中的记录。")


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_query_and_text(query: str, text: str) -> None:
    Quotes.of(query).stand_in(text)
    if len(Quotes.of(text).phrases):
        assert Quotes.of(text).stand_in(f"before {text} after")


@pytest.mark.parametrize("part", ['"', '"a b"', "\u201e", "\u00ab", '"a ', "a "])
def test_a_hostile_query_takes_no_time(part: str) -> None:
    assert len(Quotes.of(part * 50_000).phrases) <= 9
