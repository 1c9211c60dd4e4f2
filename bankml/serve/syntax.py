"""Go's words for JSON that is malformed, as clients of Ollama see them."""

import re

TOO_DEEP = "exceeded max depth"

# What msgspec says, and what Go says of the byte at that place, or one before it.
_FAULTS = {
    "object keys must be strings": (0, "looking for beginning of object key string"),
    "trailing comma in object": (0, "looking for beginning of object key string"),
    "trailing comma in array": (0, "looking for beginning of value"),
    "expected ':'": (0, "after object key"),
    "expected ',' or '}'": (0, "after object key:value pair"),
    "expected ',' or ']'": (0, "after array element"),
    "trailing characters": (-1, "after top-level value"),
}
_MALFORMED = re.compile(r"JSON is malformed: (?P<fault>.+) \(byte (?P<place>\d+)\)")
_BEFORE_A_VALUE = re.compile(rb"(^|[\[:,])[ \t\r\n]*$")
_ESCAPES = dict(zip("'\\\n\r\t\a\b\f\v", r"\' \\ \n \r \t \a \b \f \v".split(), strict=True))


def go_words(error: Exception, body: bytes) -> str:
    """The sentence of encoding/json for the error that msgspec raised of `body`; ours where msgspec does not tell.

    Exact for what clients really send: bodies cut short, other formats, missing or superfluous punctuation, control
    characters. Misspelt words, numbers and escapes are called malformed, with msgspec's words.
    """
    if isinstance(error, RecursionError):
        return TOO_DEEP
    if str(error) == "Input data was truncated":
        return "unexpected EOF"
    found = _MALFORMED.fullmatch(str(error))
    expected = found and _expected(found["fault"], int(found["place"]), body)
    if not expected:
        return f"the request body is not valid JSON: {error}"
    place, words = expected
    return f"invalid character {_quoted(body[place])} {words}"


def _expected(fault: str, place: int, body: bytes) -> tuple[int, str] | None:
    """Where the fault is and what Go expects there."""
    if fault in _FAULTS:
        shift, words = _FAULTS[fault]
        return place + shift, words
    if fault != "invalid character" or place >= len(body):
        return None
    if _BEFORE_A_VALUE.search(body, max(0, place - 100), place):
        return place, "looking for beginning of value"
    return (place, "in string literal") if body[place] < 0x20 else None


def _quoted(byte: int) -> str:
    """As Go quotes a byte: that code point of Latin-1 where it can be printed."""
    character = chr(byte)
    if character in _ESCAPES:
        return f"'{_ESCAPES[character]}'"
    if byte < 0x20 or byte == 0x7F:
        return rf"'\x{byte:02x}'"
    return f"'{character}'" if character.isprintable() else rf"'\u{byte:04x}'"
