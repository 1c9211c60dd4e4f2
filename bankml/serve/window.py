"""What a page shows of a source: the lines around a passage, with the passage and what matches in them."""

from dataclasses import dataclass

from bankml.lexical import spans
from bankml.serve.excerpts import utf16

BEFORE, AFTER = 12_000, 24_000  # characters around the passage: some hundred lines before and twice as many behind it
PASSAGE = 8000  # characters of it that are shown; one has some 1,000, but a word may be of any length
LINES = 1000  # before, and behind; a page of more is no help
LOOKED_AT = 2**15  # characters in which what matches is looked for: 3 ms


@dataclass(frozen=True, slots=True)
class Window:
    """`passage` and `marks`: from and to in UTF-16 code units. `skipped`: lines of the source before the text."""

    text: str
    passage: list[int]
    marks: list[list[int]]
    skipped: int
    cut: bool  # something of the source is missing


def window(text: str, start: int, end: int, query: str | frozenset[str]) -> Window:
    """The lines around `text[start:end]`; of a very long line, or passage, the part that is near."""
    end = min(end, start + PASSAGE)
    first, last = _first(text, start), _last(text, end)
    shown = text[first:last]
    passage = (start - first, end - first)
    looked = max(0, passage[0] - LOOKED_AT // 4)
    found = [(looked + a, looked + b) for a, b in spans(shown[looked : looked + LOOKED_AT], query)]
    return Window(
        shown,
        utf16(shown, [passage])[0],
        utf16(shown, found),
        text.count("\n", 0, first),
        first > 0 or last < len(text),
    )


def _first(text: str, start: int) -> int:
    """Where what is shown begins: at the beginning of a line, but for a line that is too long."""
    whole = start <= BEFORE
    lines = text[max(0, start - BEFORE) : start].split("\n")
    kept = lines[-LINES:] if whole or len(lines) == 1 else lines[1:][-LINES:]
    return start - len("\n".join(kept))


def _last(text: str, end: int) -> int:
    """Where it ends: with a line likewise."""
    whole = end + AFTER >= len(text)
    lines = text[end : end + AFTER].split("\n")
    kept = lines[:LINES] if whole or len(lines) == 1 else lines[:-1][:LINES]
    return end + len("\n".join(kept))
