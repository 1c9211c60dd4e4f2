"""Bytes → text: what an encoding is told by, and what is done where nothing tells it."""

import codecs
import re

from bankml.errors import DocumentError

# UTF-32's mark in little endian begins with UTF-16's.
MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
LOOKED_AT = 8000  # bytes in which a NUL tells that a file is binary, as git has it
DECLARED_IN = 1024  # bytes in which a page or a program tells its encoding
RUN = re.compile(rb"[\x80-\xff]{3,}")
HIGH = re.compile(rb"[\x80-\xff]+")
MULTIBYTE = re.compile("[\u0080-\ufffc\ufffe-\U0010ffff]")


def is_binary(content: bytes) -> bool:
    """Whether this is no text: a NUL near its beginning, and no byte order mark of an encoding that has them."""
    return _mark(content) is None and b"\0" in content[:LOOKED_AT]


def decoded(content: bytes, declared: re.Pattern[bytes] | None = None) -> tuple[str, tuple[str, ...]]:
    """The text, without its byte order mark, and notes about it; each NUL and lone surrogate is one other character.

    By its mark, else UTF-8 where it is that, else what `declared` finds near its beginning, else UTF-8 with damage or
    Windows-1252 where it looks like it. Raises DocumentError where it is binary or nothing tells its encoding.
    """
    if is_binary(content):
        raise DocumentError("looks binary, and is of no kind whose text can be read: leave it out")
    text, notes = _text(content, declared)
    if "\0" in text:
        notes = (*notes, f"{text.count(chr(0)):,} NUL characters are read as spaces")
        text = text.replace("\0", " ")
    return text, notes


def _mark(content: bytes) -> tuple[bytes, str] | None:
    return next((pair for pair in MARKS if content.startswith(pair[0])), None)


def _text(content: bytes, declared: re.Pattern[bytes] | None) -> tuple[str, tuple[str, ...]]:
    if found := _mark(content):
        mark, encoding = found
        return _damaged(content[len(mark) :], encoding)
    try:
        return content.decode("utf-8"), ()
    except UnicodeDecodeError:
        pass
    if declared and (name := _declared(content, declared)):
        return _damaged(content, name)
    return _guessed(content)


def _damaged(content: bytes, encoding: str) -> tuple[str, tuple[str, ...]]:
    """Decoded, with U+FFFD for what cannot be."""
    text = content.decode(encoding, "replace")
    bad = text.count("\ufffd") - content.count("\ufffd".encode(encoding, "ignore") or b"\xff\xff\xff\xff")
    return text, (f"{bad:,} places are no {encoding.upper()} and read as U+FFFD",) if bad > 0 else ()


def _declared(content: bytes, declared: re.Pattern[bytes]) -> str:
    """The name of a text encoding that Python has; "" where there is none."""
    found = declared.search(content[:DECLARED_IN])
    if not found:
        return ""
    try:
        name = codecs.lookup(found.group(found.lastindex or 0).decode("ascii")).name
        readable = "<".encode(name) == b"<"  # it was read as ASCII to find this; hex, zip and their like raise
    except (LookupError, UnicodeError):
        return ""
    if not readable or name == "utf-8":  # which it is not
        return ""
    return "cp1252" if name in ("iso8859-1", "ascii") else name  # as browsers do


def _guessed(content: bytes) -> tuple[str, tuple[str, ...]]:
    """In UTF-8 sound sequences outnumber the bad bytes; in Windows-1252 accented letters stand alone among others."""
    text = content.decode("utf-8", "replace")
    bad = text.count("\ufffd")
    if bad <= sum(1 for _ in MULTIBYTE.finditer(text)):
        return _damaged(content, "utf-8")
    high = sum(len(found.group()) for found in HIGH.finditer(content))
    in_runs = sum(len(found.group()) for found in RUN.finditer(content))
    if 2 * in_runs > high:
        raise DocumentError(
            "is not UTF-8, and nothing tells what it is: convert it with iconv, or begin it with a mark"
        )
    return content.decode("cp1252", "replace"), ("not UTF-8: read as Windows-1252",)
