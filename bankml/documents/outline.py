"""The outline of a PDF: which headings are on which page, and where in its text."""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from pypdf import PdfReader

from bankml.documents.titles import shortened

ENTRIES = 10_000
DEEPEST = 6  # level of a heading

Heading = tuple[int, str]  # level, from 1, and title


def outline(reader: PdfReader) -> dict[int, list[Heading]]:
    """The headings of each page, whose number is from 1; none where the outline is damaged."""
    found: dict[int, list[Heading]] = {}
    with suppress(Exception):  # of an outline: the pages may be sound
        for level, entry in _entries(reader.outline):
            with suppress(Exception):  # of one entry, which may lead nowhere
                page = reader.get_destination_page_number(entry)
                if page is not None and (title := shortened(str(entry.title))):
                    found.setdefault(page + 1, []).append((level, title))
    return found


def _entries(nested: list[Any]) -> Iterator[tuple[int, Any]]:
    """With their levels; a list holds what is below the entry before it."""
    left = [(iter(nested), 1)]
    for _ in range(ENTRIES):
        while left and (entry := next(left[-1][0], None)) is None:
            left.pop()
        if not left:
            return
        depth = left[-1][1]
        if isinstance(entry, list):
            left.append((iter(entry), depth + 1))
        else:
            yield min(depth, DEEPEST), entry


def split(text: str, headings: Iterable[Heading]) -> Iterator[tuple[str, int]]:
    """A page's text in order, 0 with each part, and its headings with their levels.

    A heading that is no line of the text stands where the one before it does: above the page, if it is the first.
    """
    at = 0
    for level, title in headings:
        if found := _line(title).search(text, at):
            yield text[at : found.start()], 0
            at = found.end()
        yield title, level
    yield text[at:], 0


def _line(title: str) -> re.Pattern[str]:
    """The title as lines of their own, numbered or not."""
    words = r"\s+".join(map(re.escape, title.split()))
    return re.compile(
        rf"^[^\S\n]*(?:(?:chapter|section|appendix)?[^\S\n]*[\dA-Z.]{{1,10}}[^\S\n]+)?{words}[^\S\n]*$", re.M | re.I
    )
