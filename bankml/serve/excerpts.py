"""What a page shows of a long text: the part around the first word that matches, and where matches lie in it."""

from collections.abc import Sequence
from dataclasses import dataclass

Span = tuple[int, int]  # from and to, in characters

MOST_MARKS = 2000  # of one text; a page of more is no help
BEFORE = 4  # a match stands behind a quarter of the excerpt, so that what led to it is seen
STEP = 20  # characters that a cut may move to fall between words
CUT = "…"


@dataclass(frozen=True)
class Excerpt:
    """`marks`: from and to in UTF-16 code units, as JavaScript counts. `cut`: something of the text is missing."""

    text: str
    marks: list[list[int]]
    cut: bool


def excerpt(text: str, spans: Sequence[Span], most: int) -> Excerpt:
    """At most some `most` characters of `text`, with the first of `spans` in them, which are in order and apart."""
    if len(text) <= most:
        return Excerpt(text, utf16(text, spans), False)
    first = spans[0][0] if spans else 0
    start = _between_words(text, max(0, min(first - most // BEFORE, len(text) - most)), first)
    end = min(start + most, len(text))
    shown = CUT * (start > 0) + text[start:end] + CUT * (end < len(text))
    shift = (start > 0) - start
    inside = [(max(a, start) + shift, min(b, end) + shift) for a, b in spans if a < end and b > start]
    return Excerpt(shown, utf16(shown, inside), True)


def _between_words(text: str, start: int, match: int) -> int:
    """The beginning of the next word, where one begins soon and before the match."""
    space = text.find(" ", start, min(start + STEP, match)) if start else -1
    return space + 1 if space >= 0 else start


def utf16(text: str, spans: Sequence[Span]) -> list[list[int]]:
    """The same spans, in order, in UTF-16 code units, as JavaScript counts; the first MOST_MARKS of them."""
    marks, at, units = [], 0, 0
    for span in spans[:MOST_MARKS]:
        mark = []
        for place in span:
            units += len(text[at:place].encode("utf-16-le", "surrogatepass")) // 2
            at = place
            mark.append(units)
        marks.append(mark)
    return marks
