"""Text → terms in every script, and where they stand in the text."""

# ruff: noqa: RUF001 - look-alikes of other scripts are what is tested

import random
import re
import sys
import unicodedata
from itertools import groupby, pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bankml.errors import InputError
from bankml.terms import marked, spans, tokens
from oracle.texts import HARD

anything = st.text(alphabet=st.characters(exclude_categories=[]))  # lone surrogates too
# Characters that compose, decompose, change their length in casefold, are ignorable, or write without spaces.
difficult = st.text(
    st.sampled_from(
        "aé\u0301\u0345İıßẞﬁﷺ①½Ⅷｶﾞﾊﾟ\u3099가각\u1100\u1161\u11a8한漢字々〇ทำที่ກຳកក្រမြန်\u200b\u200d\xad\u09be\u09c7 ́"
    ),
    max_size=12,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello, World-wide 3.14 a_b don't", "hello world wide 3 14 a b don t"),
        ("Straße ẞ ΣΊΣΥΦΟΣ Cafe\u0301 ﬁne Ｆｕｌｌ ① x²", "strasse ss σίσυφοσ café fine full 1 x2"),
        ("Việt Nam, Tiê\u0301ng Vie\u0302\u0323t", "việt nam tiếng việt"),
        ("Привет, Ёлка! ٣٤ שָׁלוֹם مَرْحَبًا", "привет ёлка ٣٤ שָׁלוֹם مَرْحَبًا"),
        ("हिन्दी में क्षत्रिय தமிழ்", "हिन्दी में क्षत्रिय தமிழ்"),
        ("می\u200cخواهم Donau\xaddampfer \ufeffa", "میخواهم donaudampfer a"),
        ("東京都に行く。2024年", "東京 京都 都に に行 行く 2024 年"),
        ("人々 ｶﾞｷﾞ データ", "人々 ガギ デー ータ"),
        ("학교에서 그 학교", "학교 교에 에서 그 학교"),
        ("ที่นี่ทำ ปี๒๕๖๐", "ที่นี่ นี่ท\u0e4d ท\u0e4d\u0e32 ปี ๒๕๖๐"),
        ("ພາສາ ភាសា မြန်မာ", "ພາ າສ ສາ ភាសា မြန် န်မာ"),
        ("𠮷野家 𝔘𝔫", "𠮷野 野家 un"),
        ("a\0b \ud800c\udfffd 😀", "a b c d"),
        ("\u0301\u0302 . !? \u200b", ""),
    ],
)
def test_terms(text: str, expected: str) -> None:
    assert tokens(text) == expected.split()


def test_what_is_written_otherwise_is_the_same_term() -> None:
    for one, other in [("ﾃﾞｰﾀ", "データ"), ("ÉTÉ", "e\u0301te\u0301"), ("각", "\u1100\u1161\u11a8"), ("WEISS", "weiß")]:
        assert tokens(one) == tokens(other) != []


@given(anything)
@example("İx KELVIN K")
def test_ascii_mode_is_the_originals(text: str) -> None:
    assert tokens(text, "ascii") == re.findall(r"[a-z0-9]+", text.lower())


@given(st.text(alphabet=st.characters(max_codepoint=127)))
def test_ascii_texts_are_the_same_in_both_modes(text: str) -> None:
    assert tokens(text) == tokens(text, "ascii")


@given(anything | difficult)
def test_terms_are_words_folded_or_pairs(text: str) -> None:
    for term in tokens(text):
        assert term
        assert unicodedata.category(term[0])[0] in "LN"
        assert all(unicodedata.category(character)[0] in "LNM" for character in term)
        assert unicodedata.is_normalized("NFKC", term)


@given(anything | difficult, anything | difficult)
def test_a_space_between_texts_keeps_their_terms(one: str, other: str) -> None:
    assert tokens(f"{one} {other}") == tokens(one) + tokens(other)


@given(anything | difficult, st.sampled_from(["unicode", "ascii"]))
def test_a_text_is_marked_where_its_own_terms_are(text: str, mode: str) -> None:
    """Every span holds terms of the text, none lies outside, and what is left has none."""
    found = spans(text, text, mode)
    assert all(0 <= start < end <= len(text) for start, end in found)
    assert all(end < start for (_, end), (start, _) in pairwise(found))
    pieces, rest, last = [], [], 0
    for start, end in [*found, (len(text), len(text))]:
        rest.append(text[last:start])
        pieces.append(text[start:end])
        last = end
    assert [term for piece in pieces for term in tokens(piece, mode)] == tokens(text, mode)
    assert not [term for piece in rest for term in tokens(piece, mode)]


@pytest.mark.parametrize("mode", ["unicode", "ascii"])
def test_every_character_is_marked_in_a_word(mode: str) -> None:
    """Folded one by one, as for spans, and folded together, as for terms, are the same."""
    assigned = [chr(c) for c in range(sys.maxunicode + 1) if unicodedata.category(chr(c)) not in ("Cn", "Co")]
    for at in range(0, len(assigned), 1000):
        text = " ".join(f"a{character}b" for character in assigned[at : at + 1000])
        parts = [text[start:end] for start, end in spans(text, text, mode)]
        assert tokens(" ".join(parts), mode) == tokens(text, mode)


def test_two_characters_are_folded_together_as_apart() -> None:
    generator, characters = random.Random(5), [chr(c) for c in range(0x80, 0x20000) if chr(c).isprintable()]
    for _ in range(10_000):
        text = "".join(generator.choices(characters, k=2))
        parts = [text[start:end] for start, end in spans(text, text)]
        assert [term for part in parts for term in tokens(part)] == tokens(text), ascii(text)


@pytest.mark.parametrize(
    ("text", "query", "expected"),
    [
        ("Fast foxes, a FOX and Foxy", "fox", ["FOX"]),
        ("The ﬁne Straße, ｆｕｌｌ", "fine STRASSE full", ["ﬁne", "Straße", "ｆｕｌｌ"]),
        ("Cafe\u0301! café", "café", ["Cafe\u0301", "café"]),
        ("東京都に行く", "東京都", ["東京都"]),
        ("東京都に行く", "都に", ["都に"]),
        ("京都と東京", "東京都", ["京都", "東京"]),
        ("ここで行う ทำ ที่นี่", "ทำ", ["ทำ"]),
        ("ﾃﾞｰﾀの", "データ", ["ﾃﾞｰﾀ"]),
        ("İstanbul x", "i̇stanbul", ["İstanbul"]),
        ("½ cup", "2", ["½"]),
        ("word", "!?", []),
        ("", "a", []),
    ],
)
def test_spans(text: str, query: str, expected: list[str]) -> None:
    assert [text[start:end] for start, end in spans(text, query)] == expected


@given(anything | difficult, anything | difficult, st.sampled_from(["unicode", "ascii"]))
def test_a_querys_terms_mark_what_it_marks(text: str, query: str, mode: str) -> None:
    assert spans(text, marked(query, mode), mode) == spans(text, query, mode)


@pytest.mark.parametrize("mode", ["unicode", "ascii"])
def test_hard_texts(mode: str) -> None:
    for text in HARD:
        assert spans(text, "nothing of this", mode) == []
        assert all(end <= len(text) for _, end in spans(text, text, mode))


def test_a_long_text() -> None:
    text = "\ud800漢字ab" * 40_000
    assert len(tokens(text)) == 80_000
    assert spans(text, "漢字")[-1] == (len(text) - 4, len(text) - 2)


def longest_run(text: str) -> int:
    """Of marks, decomposed."""
    classes = map(unicodedata.combining, unicodedata.normalize("NFKD", text))
    return max((len(list(run)) for stacking, run in groupby(classes, bool) if stacking), default=0)


@pytest.mark.parametrize(
    "marks", ["\u0301\u0316", "\u0345\u0301\u0316", "\u0344", "\u0316\u0301\u034f\xad", "\uff9e\u0316"]
)
def test_marks_without_end_are_dropped(marks: str) -> None:
    """Sorting n of them takes n² steps: a minute for these 200,000, were they not."""
    text = "b ca" + marks * (200_000 // len(marks)) + "z d"
    first, long, last = tokens(text)
    assert (first, last) == ("b", "d")
    assert long[-1] == "z"
    assert 30 <= longest_run(long.replace("ι", "\u0345")) <= 60
    assert spans(text, text[:-2]) == [(0, 1), (2, len(text) - 2)]
    assert spans(text, "d") == [(len(text) - 1, len(text))]


def test_no_character_makes_a_long_run_of_marks() -> None:
    stacking = [chr(c) for c in range(0x20000) if longest_run(unicodedata.normalize("NFKC", chr(c)).casefold())]
    assert len(stacking) > 1000
    for character in stacking:
        assert longest_run("".join(tokens("a" + 100 * character + "b"))) <= 65, ascii(character)


@pytest.mark.parametrize("between", ["", "\xad"])
def test_thirty_marks_are_kept(between: str) -> None:
    marks = "\u0316\u0301" * 15
    kept = unicodedata.normalize("NFKC", "a" + marks)
    assert tokens(f"a{between.join(marks)}") == [kept]
    assert tokens(f"a{between.join(marks)}\u0301 a{marks}o{marks}") == [
        kept,
        unicodedata.normalize("NFKC", f"a{marks}o{marks}"),
    ]


@pytest.mark.parametrize("text", [None, b"a", 3, ["a"]])
def test_what_is_no_text(text: object) -> None:
    with pytest.raises(InputError, match="give a str"):
        tokens(text)
    with pytest.raises(InputError, match="give a str"):
        spans("a", text)
    with pytest.raises(InputError, match="give a str"):
        spans(text, "a")


def test_a_mode_that_is_none() -> None:
    with pytest.raises(InputError, match="choose one of: unicode, ascii"):
        tokens("a", "latin1")


def test_a_str_of_another_class() -> None:
    class Name(str):
        pass

    assert tokens(Name("A b")) == ["a", "b"]
