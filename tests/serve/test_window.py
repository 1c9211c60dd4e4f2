"""The part of a source that a page shows: whole lines, little of much, and offsets as JavaScript counts them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bankml.serve import window as windows
from bankml.serve.window import window


def units(text: str, span: list[int]) -> str:
    """What lies between two offsets in UTF-16 code units."""
    encoded = text.encode("utf-16-le", "surrogatepass")
    return encoded[2 * span[0] : 2 * span[1]].decode("utf-16-le", "surrogatepass")


def test_a_short_text_is_shown_whole():
    found = window("one 😀\ntwo needle\nthree", 6, 16, "needle")
    assert (found.text, found.skipped, found.cut) == ("one 😀\ntwo needle\nthree", 0, False)
    assert units(found.text, found.passage) == "two needle"
    assert [units(found.text, mark) for mark in found.marks] == ["needle"]


def test_of_a_long_one_whole_lines_are_shown():
    lines = [f"line {number} 😀" for number in range(20_000)]
    text = "\n".join(lines)
    start = text.index("line 9000 ")
    found = window(text, start, start + len(lines[9000]), "line 9000")
    shown = found.text.split("\n")
    assert set(shown) <= set(lines)
    assert lines[found.skipped] == shown[0]
    assert units(found.text, found.passage) == lines[9000]
    assert found.cut
    assert len(found.text) < windows.BEFORE + windows.AFTER + 20
    assert "9000" in {units(found.text, mark) for mark in found.marks}


@pytest.mark.parametrize("text", ["x" * 10**6, "\n" * 10**6, "x y " * 250_000])
def test_absurd_texts_are_cut(text):
    found = window(text, 500_000, 500_004, "x")
    assert found.cut
    assert len(found.text) <= windows.BEFORE + windows.AFTER + 4
    assert found.text.count("\n") <= 2 * windows.LINES + 4
    assert units(found.text, found.passage) == text[500_000:500_004]


@given(st.text("ab\n😀", max_size=60), st.integers(0, 60), st.integers(0, 60), st.integers(1, 20), st.integers(1, 5))
def test_the_passage_is_always_whole(text, start, width, most, lines):
    start = min(start, len(text))
    end = min(start + width, len(text))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(windows, "BEFORE", most)
        patch.setattr(windows, "AFTER", most)
        patch.setattr(windows, "LINES", lines)
        found = window(text, start, end, "a")
    assert units(found.text, found.passage) == text[start:end]
    assert found.text in text
    assert found.cut == (found.text != text)
