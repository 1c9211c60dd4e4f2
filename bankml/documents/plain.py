"""Plain text and reStructuredText → headings, lists and paragraphs; the text stays as it is."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bankml.documents.covering import Span, covering, starts
from bankml.documents.extracted import Extracted, Kind
from bankml.documents.titles import titled

RULE = re.compile(r"([!-/:-@\[-`{-~])\1{2,}\s*\Z")  # a line of one punctuation mark
NUMBERED = re.compile(r"(\d{1,3}(?:\.\d{1,3}){0,5})\.?[ \t]+(?=[^\W\d_])(?!.*[.,:;!?]\s*\Z)")
ITEM = re.compile(r"\s*(?:[-*+•‣◦]|\d{1,4}[.)])\s+\S")
LONGEST = 120  # characters of a heading


class _Paragraph(NamedTuple):
    """Lines `first` to `last` of the text, none of which is blank."""

    first: int
    last: int


def plain(name: str, text: str, notes: tuple[str, ...], type: str = "text") -> Extracted:
    """Underlined lines are headings, as in reStructuredText; so are numbered ones that stand alone above a text."""
    blocks = covering(text, _spans(text, starts(text)))
    return Extracted(text, type, titled(name, text, blocks), blocks, has_lines=True, notes=notes)


def _spans(text: str, at: list[int]) -> Iterator[Span]:
    paragraphs = list(_paragraphs(text, at))
    styles: dict[tuple[str, bool], int] = {}
    for number, paragraph in enumerate(paragraphs):
        lines = [
            text[at[line] : at[line + 1]] for line in range(paragraph.first, min(paragraph.first + 3, paragraph.last))
        ]
        after = paragraphs[number + 1] if number + 1 < len(paragraphs) else None
        of_heading, level = _underlined(lines, styles)
        if not of_heading and _alone(paragraph) and after:
            level = _numbered(lines[0], text[at[after.first] : at[after.first + 1]] if _alone(after) else "")
            of_heading = 1 if level else 0
        border = paragraph.first + of_heading
        if of_heading:
            yield Span(at[paragraph.first], at[border], "heading", level)
        if border < paragraph.last:
            kind: Kind = "list" if ITEM.match(text, at[border], at[border + 1]) else "paragraph"
            yield Span(at[border], at[paragraph.last], kind)


def _paragraphs(text: str, at: list[int]) -> Iterator[_Paragraph]:
    first = None
    for line in range(len(at) - 1):
        if text[at[line] : at[line + 1]].isspace():
            if first is not None:
                yield _Paragraph(first, line)
            first = None
        elif first is None:
            first = line
    if first is not None:
        yield _Paragraph(first, len(at) - 1)


def _alone(paragraph: _Paragraph) -> bool:
    return paragraph.last - paragraph.first == 1


def _underlined(lines: Sequence[str], styles: dict[tuple[str, bool], int]) -> tuple[int, int]:
    """How many lines are a heading, and its level: that of its style, in the order in which styles come."""
    above = bool(lines) and _rules(lines[0]) is not None
    title = lines[1:] if above else lines
    if len(title) < 2 or len(title[0]) > LONGEST or _rules(title[0]):
        return 0, 0
    rule = _rules(title[1])
    words = title[0].strip()
    if rule is None or 4 * len(title[1].strip()) < 3 * len(words) or (above and _rules(lines[0]) != rule):
        return 0, 0
    return 2 + above, styles.setdefault((rule, above), len(styles) + 1)


def _rules(line: str) -> str | None:
    found = RULE.match(line) if len(line) < 4 * LONGEST else None
    return found.group(1) if found else None


def _numbered(line: str, after: str) -> int:
    """The level of "2.3 Scope" if it heads what follows; 0 where it may be an item of a list."""
    found = NUMBERED.match(line) if len(line) <= LONGEST else None
    if not found:
        return 0
    level = found.group(1).count(".") + 1
    following = NUMBERED.match(after) if len(after) <= LONGEST else None
    return 0 if following and following.group(1).count(".") + 1 <= level else level
