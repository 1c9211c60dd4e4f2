import io
import struct
import zipfile

import pytest

from bankml.documents.archive import ENTRIES, HEAD, entries
from bankml.errors import DocumentError
from tests.documents import made


def test_names():
    assert entries(made.packed({"a": "x", "b/c": "y"})) == ["a", "b/c"]


def test_a_bomb_is_told_before_it_is_unpacked():
    with pytest.raises(DocumentError, match=r"unpacks from .* to 33,554,432 bytes"):
        entries(made.packed({"word/document.xml": "x" * (32 << 20)}))


def test_more_entries_than_a_document_has():
    with pytest.raises(DocumentError, match="more than 10,000 entries"):
        entries(HEAD * (2 * ENTRIES + 1))


def test_an_entry_gives_no_more_than_it_says():
    content = bytearray(made.packed({"a": "x" * 1000}))
    at = content.rindex(b"PK\x01\x02") + 24
    struct.pack_into("<I", content, at, 10)
    assert entries(bytes(content)) == ["a"]
    with zipfile.ZipFile(io.BytesIO(content)) as archive, pytest.raises(zipfile.BadZipFile):
        archive.read("a")


def test_with_a_password():
    content = bytearray(made.packed({"a": "x"}))
    content[content.rindex(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(DocumentError, match="is an archive with a password"):
        entries(bytes(content))
