"""What a page shows of a long text: the part around a word that matches, and where matches lie in it."""

from collections.abc import Sequence
from dataclasses import dataclass

Span = tuple[int, int]  # from and to, in characters

MOST_MARKS = 2000  # of one text; a page of more is no help
BEFORE = 4  # a match stands behind a quarter of the excerpt, so that what led to it is seen
STEP = 20  # characters that a cut may move to fall between words
CUT = "…"


@dataclass(frozen=True)
class Excerpt:
    """`marks`: from and to in UTF-16 code units, as JavaScript counts. `cut`: something of the text is missing.

    `best`: the place in it, counted likewise, that it is shown around.
    """

    text: str
    marks: list[list[int]]
    cut: bool
    best: int


def excerpt(text: str, spans: Sequence[Span], most: int, best: int | None = None) -> Excerpt:
    """At most some `most` characters of `text`, with the place `best` in them (None: the first of `spans`).

    `spans` are in order and apart.
    """
    place = best if best is not None else spans[0][0] if spans else 0
    if len(text) <= most:
        return Excerpt(text, utf16(text, spans), False, _unit(text, place))
    start = _between_words(text, max(0, min(place - most // BEFORE, len(text) - most)), place)
    end = min(start + most, len(text))
    shown = CUT * (start > 0) + text[start:end] + CUT * (end < len(text))
    shift = (start > 0) - start
    inside = [(max(a, start) + shift, min(b, end) + shift) for a, b in spans if a < end and b > start]
    return Excerpt(shown, utf16(shown, inside), True, _unit(shown, place + shift))


def _unit(text: str, place: int) -> int:
    return utf16(text, [(place, place)])[0][0]


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
