"""Sections of a page, also of one that nobody wrote to be read."""

import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bankml.errors import InputError
from bankml.evaluation import deb, page
from bankml.evaluation.page import Section
from tests import debian

TITLE = '<div class="titlepage"><h2 class="title"><a id="{0}"></a>{1}</h2></div>'


def section(id: str, title: str, body: str) -> str:
    return f'<div class="section">{TITLE.format(id, title)}{body}</div>'


def test_a_chapter() -> None:
    found = page.sections(debian.page(debian.ENGLISH).encode())
    assert found == [Section(id, title, text) for id, (title, text) in debian.ENGLISH.items()]


def test_each_section_has_its_own_text_alone() -> None:
    html = section("outer", "1.\u00a0Outer?", "<p>before</p>" + section("inner", "1.1. Inner?", "<p>in</p>") + "after")
    assert page.sections(html.encode()) == [
        Section("outer", "Outer?", "before after"),
        Section("inner", "Inner?", "in"),
    ]


def test_titles_of_other_sections_are_no_text() -> None:
    body = (
        '<div class="toc"><dl><dt><a href="#a">1.2. Quoted?</a></dt></dl></div>'
        '<p>See <a class="xref" href="x#a">Section 1.2, “Quoted?”</a>, and <a class="ulink" href="y">this</a>.</p>'
    )
    assert page.sections(section("a", "1.1. A?", body).encode()) == [Section("a", "A?", "See , and this.")]


def test_the_title_of_a_note_is_text() -> None:
    body = '<div class="note"><h3 class="title"><a id="n"></a>Note</h3><p>care</p></div>'
    assert page.sections(section("a", "A?", body).encode()) == [Section("a", "A?", "Note care")]


def test_blocks_are_apart_and_words_are_not() -> None:
    body = "<ul><li>one</li><li>two</li></ul>ex<em>am</em>ple &amp; &#x41;<br/>end"
    assert page.sections(section("a", "A?", body).encode())[0].text == "one two example & A end"


@pytest.mark.parametrize(
    ("title", "without"),
    [("3.1.1.\u00a0Why?", "Why?"), ("15.2. Why?", "Why?"), ("2 or 3?", "2 or 3?"), ("A 2.0 kernel?", "A 2.0 kernel?")],
)
def test_the_number_of_a_title(title: str, without: str) -> None:
    assert page.sections(section("a", title, "text").encode())[0].title == without


@pytest.mark.parametrize("html", ["<html/>", "<p>text</p>", section("", "A?", "t"), section("a", "1.1. ", "t")])
def test_nothing_to_find(html: str) -> None:
    assert page.sections(html.encode()) == []


BOMB = '<!DOCTYPE html [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;">]><html>&b;</html>'


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "no well-formed XHTML"),
        (b"\xff\xfe<\0h\0", "no well-formed XHTML"),
        (b"<p>\xe9t\xe9</p>", "no well-formed XHTML"),
        (b"<div><p>text</div>", "no well-formed XHTML"),
        (b"<html></html><html/>", "no well-formed XHTML"),
        (BOMB.encode(), "declares the entity 'a'"),
        (b"<div>" * (page.MAX_DEPTH + 1), "nested"),
    ],
)
def test_no_page(content: bytes, words: str) -> None:
    with pytest.raises(InputError, match=words):
        page.sections(content)


def test_nothing_is_fetched_or_read_for_a_page() -> None:
    html = '<!DOCTYPE html SYSTEM "file:///etc/passwd"><html>' + section("a", "A?", "b&nbsp;c&amp;d") + "</html>"
    assert page.sections(html.encode()) == [Section("a", "A?", "bc&d")]


PIECES = [
    *(
        "<div class='section'>",
        TITLE.format("a", "A"),
        "</div>",
        "<",
        "<!",
        "<!--",
        "<![CDATA[",
        "&#",
        "&",
        "</",
        "<a ",
    ),
    *("<script>", "'", '"', "=", "\0", "\ufffd", "<p>", "text", "?>", "<?", ">", "<br/>", "<!DOCTYPE a [", "]]>"),
]


@given(st.lists(st.sampled_from(PIECES), max_size=40))
def test_any_markup(pieces: list[str]) -> None:
    """Sections, or an InputError; nothing else."""
    with suppress(InputError):
        assert all(one.id and one.title for one in page.sections("".join(pieces).encode()))


@pytest.mark.parametrize("piece", PIECES)
def test_the_largest_page_of_one_piece_ends(piece: str) -> None:
    """A second at most; html.parser would need hours for some."""
    started = time.thread_time()
    for start in ("", "<a>", "<a b='", "<!--"):
        with suppress(InputError):
            page.sections((start + piece * (deb.MAX_FILE // len(piece))).encode())
    assert time.thread_time() - started < 20
