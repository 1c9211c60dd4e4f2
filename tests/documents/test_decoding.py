import pytest

from bankml.documents.decoding import decoded
from bankml.documents.extract import extract
from bankml.errors import DocumentError

TEXT = "Grüße aus Köln, 中文\r\nline two"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_a_mark_or_utf_8_is_read_without_notes(encoding):
    assert decoded(TEXT.encode(encoding)) == (TEXT, ())


def test_big_endian_with_a_mark():
    assert decoded(b"\xfe\xff" + "añ".encode("utf-16-be")) == ("añ", ())


def test_western_text_is_read_as_windows_1252_with_a_note():
    assert decoded("Das Café in Köln: “très” 5 €".encode("cp1252")) == (
        "Das Café in Köln: “très” 5 €",
        ("not UTF-8: read as Windows-1252",),
    )


@pytest.mark.parametrize("encoding", ["koi8-r", "cp1251", "shift-jis", "gb18030", "euc-kr"])
def test_what_nothing_tells_is_an_error_and_no_nonsense(encoding):
    text = {"shift-jis": "日本語の文章です。", "gb18030": "这是一段中文文本。", "euc-kr": "한국어 문장입니다."}.get(
        encoding, "Это русский текст."
    )
    with pytest.raises(DocumentError, match="is not UTF-8, and nothing tells what it is"):
        decoded(text.encode(encoding))


def test_a_broken_byte_in_utf_8_is_one_character():
    text, notes = decoded("Grüße und Küsse".encode() + b"\xff!")
    assert text == "Grüße und Küsse\ufffd!"
    assert notes == ("1 places are no UTF-8 and read as U+FFFD",)


def test_lone_surrogates_of_utf_16():
    text, notes = decoded(b"\xff\xfea\x00\x00\xd8b\x00")
    text.encode()
    assert text[0] == "a"
    assert text[-1] == "b"
    assert notes


def test_nul_characters():
    with pytest.raises(DocumentError, match="looks binary"):
        decoded(b"a\0b")
    text, notes = decoded(b"a" * 9000 + b"\0\0")
    assert len(text) == 9002
    assert notes == ("2 NUL characters are read as spaces",)


@pytest.mark.parametrize(
    "head",
    [
        '<meta charset="koi8-r">',
        '<meta content="text/html; charset=koi8-r">',
        '<?xml version="1.0" encoding="koi8-r"?>',
    ],
)
def test_a_page_tells_its_encoding(head):
    assert extract("a.html", f"{head}<p>Привет".encode("koi8-r")).text == "Привет"


@pytest.mark.parametrize("name", ["hex", "zip", "rot13", "no-such", "x" * 300, "utf-16"])
def test_what_a_page_tells_may_be_nonsense(name):
    assert "Caf" in extract("a.html", f'<meta charset="{name}"><p>Café'.encode("cp1252")).text
