"""A snippet shows the place where the query stands."""

from hypothesis import given
from hypothesis import strategies as st

from bankml.library.search.snippet import best, snippet
from bankml.terms import marked, spans


def test_a_short_text_is_whole() -> None:
    found = snippet("The boot\n\tloader starts.", marked("LOADER boot"))
    assert found.text == "The boot loader starts."
    assert [found.text[start:end] for start, end in found.spans] == ["boot", "loader"]


def test_a_long_text_is_cut_around_most_terms() -> None:
    text = "one kernel here. " + "filler " * 100 + "the boot loader starts a kernel " + "filler " * 100
    found = snippet(text, marked("kernel boot loader"))
    assert found.text.startswith("…filler")
    assert found.text.endswith("…")
    assert [found.text[start:end] for start, end in found.spans] == ["boot", "loader", "kernel"]


def test_a_word_that_is_everywhere_leads_nowhere() -> None:
    text = "the a of the a of" + " filler" * 60 + " waves scatter" + " filler" * 60
    assert "waves scatter" in snippet(text, marked("a scatter of the waves")).text
    text = "of the filler " * 30 + "waves scatter " + "of the filler " * 30
    assert 0 < snippet(text, marked("a scatter of the waves")).text.index("waves scatter") <= 61


def test_the_best_place_is_found_in_one_go() -> None:
    text = "a b c d " * 50_000
    assert best(text, spans(text, marked("a b c d"))) == 0


def test_without_terms_it_is_the_beginning() -> None:
    assert snippet("word " * 100, marked("nowhere")).text.startswith("word word")


@given(st.text(max_size=600), st.text(max_size=30), st.integers(61, 300))
def test_of_any_text(text: str, query: str, width: int) -> None:
    found = snippet(text, marked(query), width)
    assert len(found.text) <= width + 2
    assert "\n" not in found.text
    assert all(0 <= start < end <= len(found.text) for start, end in found.spans)
