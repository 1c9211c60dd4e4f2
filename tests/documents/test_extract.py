from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bankml.documents.extract import READERS, extract
from bankml.documents.source import LARGEST
from bankml.errors import DocumentError
from tests.documents.soundness import assert_sound

SUFFIXES = {
    "text": "txt",
    "rst": "rst",
    "markdown": "md",
    "html": "html",
    "code": "py",
    "json": "json",
    "jsonl": "jsonl",
    "notebook": "ipynb",
    "csv": "csv",
}
PIECES = {  # joined at random; parted by spaces, `~` for a newline
    "text": "Title~ =====~ ~ 1.·One~ 2.1·Two~ -·a~ words.· \r~ \r ··",
    "rst": "===~ Title~ ---~ ~ ..·note::~ ···words~ +++~",
    "markdown": "#·A~ ---~ title:·x~ ~ >· -· 1.· ```~ |·a·|~ |---|~ ···· [a]:·b~ word~ \r <p>~",
    "html": "< <p> </p> <ul> <li> <table> <td> <pre> </pre> <h1> </h2> <!-- --> <nav> <title> <p·hidden> "
    "<img·alt=é> <aside> <script> </script> &amp; &#xD800; &#99999999999; <a·b=' \" <![CDATA[ ]]> x~ <br/> "
    "<svg>",
    "code": "def·f():~ class·A:~ ····pass~ ····def·g(self):·pass~ @d~ #·c~ x·=·1~ ~ }~ int·f(~ '''~ \\~ \f \r",
    "json": '{ } [ ] "a" : , 1 null "\\ud800" "\\u00e9" NaN ~',
    "jsonl": '{"a":1} {"b":{"c":[1,{}]}} ~ [ x "\\ud800" \r~',
    "notebook": '{ } [ ] "cells": "source": "cell_type": "markdown" "code" "#·A\\n" , : 1 null ~',
    "csv": 'a , ; \t " ~ \r 1 b ·',
}


@pytest.mark.parametrize("type", SUFFIXES)
@given(data=st.data())
def test_any_text_of_each_type_is_sound(type, data):
    content = "".join(data.draw(st.lists(st.sampled_from([*PIECES[type].split(" "), "é", "中"]), max_size=40)))
    content = content.replace("~", "\n").replace("·", " ")
    extracted = extract(f"a.{SUFFIXES[type]}", content.encode())
    assert_sound(extracted)


@pytest.mark.parametrize("suffix", [*SUFFIXES.values(), "c", "pdf", "docx", "", "tsv"])
@given(content=st.binary(max_size=200))
@example(content=b"\xff\xfe\x00\xd8")
@example(content=b"\xef\xbb\xbf")
@example(content=b"")
def test_any_bytes_are_sound_or_one_sentence(suffix, content):
    with suppress(DocumentError):
        assert_sound(extract(f"a.{suffix}", content))


def test_each_reader_is_tried_here():
    assert set(READERS) == set(SUFFIXES) == set(PIECES)


def test_more_than_the_largest_is_refused():
    with pytest.raises(DocumentError, match="has 67,108,865 bytes, more than the 64 MiB that are read"):
        extract("a.txt", bytes(LARGEST + 1))


@pytest.mark.parametrize("content", [b"%PDF-1.4 and so on", b"PK\x03\x04 and so on"])
def test_a_type_that_is_known_is_not_looked_for(content):
    """What a client sends as text is text, and no parser of PDFs or archives sees it."""
    found = extract("a.pdf", content, type="text")
    assert (found.type, found.text) == ("text", content.decode())
