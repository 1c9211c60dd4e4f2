"""The part of a passage that shows best why it was found."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from bankml.terms import spans

WIDTH = 240  # characters
BEFORE = 60  # characters before the first term at most


class Snippet(NamedTuple):
    """`spans`: (start, end) of what the query names, in characters of `text`."""

    text: str
    spans: list[tuple[int, int]]


def snippet(text: str, terms: frozenset[str], width: int = WIDTH) -> Snippet:
    """At most so many characters of the text on one line, from its `best` place; "…" for what is cut.

    `terms` as of `bankml.terms.marked`.
    """
    flat = " ".join(text.split())
    found = spans(flat, terms) if len(flat) > width else []
    start = _start(flat, found, width)
    end = min(len(flat), start + width)
    shown = ("…" if start else "") + flat[start:end].strip() + ("…" if end < len(flat) else "")
    return Snippet(shown, spans(shown, terms))


def best(text: str, found: Sequence[tuple[int, int]], width: int = WIDTH) -> int:
    """Where the first rare word stands of those `width` characters that have most different words of `found`.

    A word counts one over how often the text has it, so that "the" leads nowhere. Of equal places the first.
    """
    words = [text[start:end].casefold() for start, end in found]
    often, within = Counter(words), Counter[str]()
    worth, most, part, last = 0.0, 0.0, range(0), 0
    for number, (start, _) in enumerate(found):
        while last < len(found) and (last == number or found[last][1] <= start + width - BEFORE):
            worth += (within[words[last]] == 0) / often[words[last]]
            within[words[last]] += 1
            last += 1
        if worth > most + 1e-9:  # what is added and taken away again leaves some 1e-16
            part, most = range(number, last), worth
        within[words[number]] -= 1
        worth -= (within[words[number]] == 0) / often[words[number]]
    rare = 2 * min((often[words[number]] for number in part), default=0)
    return next((found[number][0] for number in part if often[words[number]] <= rare), 0)


def _start(flat: str, found: Sequence[tuple[int, int]], width: int) -> int:
    """Where the part begins: at a word, a little before the terms."""
    place = best(flat, found, width)
    if place <= BEFORE:
        return 0
    space = flat.find(" ", place - BEFORE, place)
    return place - BEFORE if space < 0 else space + 1
