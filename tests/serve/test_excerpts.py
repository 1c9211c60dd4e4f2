"""Excerpts: bounded, with the first match in them, and marks that fit what is shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bankml.serve.excerpts import MOST_MARKS, excerpt


def marked(text: str, marks: list[list[int]]) -> list[str]:
    """What JavaScript slices out between the marks."""
    units = text.encode("utf-16-le", "surrogatepass")
    return [units[2 * first : 2 * last].decode("utf-16-le", "surrogatepass") for first, last in marks]


def test_a_short_text_is_whole():
    found = excerpt("the sky is blue", [(4, 7)], 100)
    assert (found.text, found.marks, found.cut) == ("the sky is blue", [[4, 7]], False)


def test_a_long_text_is_shown_around_its_first_match():
    text = "before " * 100 + "the sky is blue" + " after" * 100
    at = text.index("sky")
    found = excerpt(text, [(at, at + 3)], 80)
    assert found.cut
    assert marked(found.text, found.marks) == ["sky"]
    assert found.text.startswith("…before ")
    assert found.text.endswith("…")
    assert len(found.text) <= 82


def test_or_around_the_place_that_is_named():
    text = "the 😀 " + "before " * 100 + "the sky is blue" + " after" * 100
    at = text.index("sky")
    found = excerpt(text, [(0, 3), (at, at + 3)], 80, at)
    assert marked(found.text, found.marks) == ["sky"]
    assert found.best == found.marks[0][0]
    whole = excerpt(text, [(0, 3), (at, at + 3)], 5000, at)
    assert whole.best == whole.marks[1][0] == at + 1


def test_without_a_match_it_begins_at_the_beginning():
    found = excerpt("word " * 100, [], 20)
    assert (found.text, found.marks, found.cut) == ("word word word word …", [], True)


def test_the_end_is_shown_in_full_length():
    text = "x" * 1000
    found = excerpt(text, [(999, 1000)], 100)
    assert found.text == "…" + "x" * 100
    assert found.marks == [[100, 101]]


def test_marks_count_as_javascript_does():
    found = excerpt("😀 the 😀 sky", [(6, 7), (8, 11)], 100)
    assert found.marks == [[7, 9], [10, 13]]


def test_marks_are_bounded():
    assert len(excerpt("a " * 10_000, [(2 * at, 2 * at + 1) for at in range(10_000)], 50_000).marks) == MOST_MARKS


TEXTS = st.text(alphabet=st.sampled_from("ab 😀\n…\ud800\udc00é中"), max_size=60)


@given(TEXTS, st.lists(st.integers(0, 60), max_size=8, unique=True), st.integers(1, 70))
def test_whatever_the_text_marks_lie_on_what_matched(text, places, most):
    ends = sorted(place for place in places if place <= len(text))
    spans = list(zip(ends[::2], ends[1::2], strict=False))
    found = excerpt(text, spans, most)
    assert len(found.text) <= most + 2
    assert found.cut == (len(text) > most)
    whole = [text[first:last].encode("utf-16-le", "surrogatepass") for first, last in spans]
    shown = [part.encode("utf-16-le", "surrogatepass") for part in marked(found.text, found.marks)]
    assert all(any(part in one for one in whole) for part in shown)
    if not found.cut:
        assert shown == whole
    elif spans:
        assert shown
    assert found.marks == sorted(found.marks)


def test_a_cut_between_words_never_passes_the_match():
    found = excerpt("中" * 50 + "文a b" + "中" * 50, [(51, 52)], 4)
    assert marked(found.text, found.marks) == ["a"]


@pytest.mark.parametrize("most", [1, 2, 5])
def test_even_the_smallest_excerpt_has_its_match(most):
    found = excerpt("abcdefghij klm", [(11, 12)], most)
    assert marked(found.text, found.marks) == ["k"]
