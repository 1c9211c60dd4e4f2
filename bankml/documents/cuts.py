"""Long pieces in parts: at clauses, else at spaces, else within what has no spaces, such as Thai or base64.

Where a part ends is told by the characters there and not by its distance from the start of the text, so after an edit
the same parts come again.
"""

# ruff: noqa: RUF001 - marks of other scripts look like ASCII's

import re
import unicodedata
from collections.abc import Iterator
from zlib import crc32

from bankml.documents.pieces import CLAUSE, CUT, SPACE, Piece, trimmed

CLAUSES = re.compile(r"(?:[.!?,;:،؛]\s+|[՝፣、，；：]\s*)(?=\S)|\s[–—-]\s+(?=\S)")
SPACES = re.compile(r"\s+(?=\S)")
GRAM = 4  # characters that tell a place within a run
SEEN = 32  # characters behind a border that tell it
JOINERS = "\u200c\u200d\ufe0e\ufe0f"


def parts(text: str, piece: Piece, most: int) -> Iterator[Piece]:
    """The piece in parts of at most `most` characters."""
    start = piece.start
    while piece.end - start > most:
        end, border = _place(text, start + (most + 1) // 2, start + most)
        if found := trimmed(text, start, end, border, piece.repeats):
            yield found
        start = end
    if found := trimmed(text, start, piece.end, piece.border, piece.repeats):
        yield found


def mark(text: str, place: int) -> int:
    """A number told by the text behind the place: of several places the one with the lowest is taken."""
    return crc32(text[place : place + SEEN].encode("utf-8", "surrogatepass"))


def _place(text: str, low: int, high: int) -> tuple[int, int]:
    """Where to cut: from `low` to `high`, both included, and what is cut there."""
    for pattern, border in ((CLAUSES, CLAUSE), (SPACES, SPACE)):
        places = [found.end() for found in pattern.finditer(text, max(0, low - 1), high) if found.end() >= low]
        if places:
            return min(places, key=lambda place: mark(text, place)), border
    return _within_run(text, low, high), CUT


def _within_run(text: str, low: int, high: int) -> int:
    """Before the least of the grams, which come again after an edit; never before a mark if that can be helped."""
    places = range(low, high + 1)
    place = min(places, key=lambda at: text[at : at + GRAM])
    if _joined(text[place]):
        place = min(places, key=lambda at: (_joined(text[at]), text[at : at + GRAM]))
    return place


def _joined(character: str) -> bool:
    """Whether it belongs to the character before it."""
    return character in JOINERS or unicodedata.category(character).startswith("M")
