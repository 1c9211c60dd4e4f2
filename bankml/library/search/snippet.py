"""The part of a passage that shows best why it was found."""

from typing import NamedTuple

from bankml.terms import spans

WIDTH = 240  # characters
BEFORE = 60  # characters before the first term at most


class Snippet(NamedTuple):
    """`spans`: (start, end) of what the query names, in characters of `text`."""

    text: str
    spans: list[tuple[int, int]]


def snippet(text: str, terms: frozenset[str], width: int = WIDTH) -> Snippet:
    """At most so many characters of the text on one line, where it names most different `terms`; "…" for what is cut.

    `terms` as of `bankml.terms.marked`. Of equal places the first.
    """
    flat = " ".join(text.split())
    found = spans(flat, terms) if len(flat) > width else []
    start = _start(flat, found, width)
    end = min(len(flat), start + width)
    shown = ("…" if start else "") + flat[start:end].strip() + ("…" if end < len(flat) else "")
    return Snippet(shown, spans(shown, terms))


def _start(flat: str, found: list[tuple[int, int]], width: int) -> int:
    """Where the part begins: at a word, a little before the terms."""
    best, most = 0, 0
    for number, (start, _) in enumerate(found):
        within = {flat[a:b].casefold() for a, b in found[number : number + width] if b <= start + width - BEFORE}
        if len(within) > most:
            best, most = start, len(within)
    if best <= BEFORE:
        return 0
    space = flat.find(" ", best - BEFORE, best)
    return best - BEFORE if space < 0 else space + 1
