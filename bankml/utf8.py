"""Strings that JSON can carry and a terminal can show: what came from paths, files or bodies may hold anything."""

import re
from typing import Any

# Controls (C0, DEL, C1), zero-width space, bidirectional marks, a byte order mark, lone surrogates, tags. The joiners
# U+200C and U+200D stay: Persian, Hindi and families of emoji are spelled with them.
UNPRINTABLE = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)


def whole(value: Any) -> Any:
    """The same with each lone surrogate in any str, key or element as U+FFFD."""
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, dict):
        return {whole(key): whole(item) for key, item in value.items()}
    return [whole(item) for item in value] if isinstance(value, list) else value


def printable(text: str) -> str:
    """The same with U+FFFD for each character that steers a terminal, hides or turns its neighbours, or is no text."""
    return UNPRINTABLE.sub("\ufffd", text)


def line(text: str) -> str:
    """The same on one line, printable."""
    return printable(" ".join(text.split()))
