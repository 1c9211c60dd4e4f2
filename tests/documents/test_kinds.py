import pytest

from bankml.documents.kinds import kind
from bankml.errors import DocumentError
from tests.documents import made


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("a.md", b"x", "markdown"),
        ("a.MD", b"x", "markdown"),
        ("/b.py/README", b"x", "text"),
        ("Makefile", b"x", "code"),
        ("a.rst", b"x", "rst"),
        ("script", b"#!/bin/sh\n", "code"),
        ("page", b"\xef\xbb\xbf <!DOCTYPE html>", "html"),
        ("data", b'{"a": 1}', "json"),
        ("data", b"[link] text", "text"),
        ("a.unknown", b"text", "text"),
        ("a.txt", made.pdf(["x"]), "pdf"),
        ("a", made.docx(""), "docx"),
        ("a.zip", made.epub([]), "epub"),
        ("a.txt", b"\xff\xfea\x00", "text"),
        ("a.csv", b"", "csv"),
        ("", b"", "text"),
    ],
)
def test_by_content_then_name_then_beginning(name, content, found):
    assert kind(name, content) == found


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0", "looks binary"),
        (made.packed({"a.txt": "x"}), "is an archive: unpack it"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(99), "is an Office file of before 2007"),
        (made.docx("x")[:-30], "is a damaged archive"),
    ],
)
def test_what_has_no_text(content, why):
    with pytest.raises(DocumentError, match=why):
        kind("a.txt", content)
