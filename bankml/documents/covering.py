"""Blocks over a source's own text, where nothing may be lost."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from bankml.documents.assembly import BLOCKS
from bankml.documents.extracted import Block, Kind
from bankml.errors import DocumentError

NEWLINE = re.compile(r"\r\n?|\n")
SPACE = re.compile(r"\s*")
LINES = 4_000_000  # some 40 bytes each while blocks are looked for


class Span(NamedTuple):
    """Characters `start` to `end` of the text."""

    start: int
    end: int
    kind: Kind
    level: int = 0


def covering(text: str, found: Iterable[Span], gap: Kind = "paragraph") -> tuple[Block, ...]:
    """The spans, which are in order, as blocks with their lines; what lies between them is blocks of kind `gap`."""
    blocks, at, line = list[Block](), 0, 1
    for span in _whole(text, found, gap):
        start, end = _trimmed(text, span)
        if start < end:
            line += text.count("\n", at, start)
            at = start
            if len(blocks) == BLOCKS:
                raise DocumentError(f"has more than {BLOCKS:,} paragraphs: split it")
            blocks.append(Block(start, end, span.kind, span.level, line))
    return tuple(blocks)


def starts(text: str) -> list[int]:
    """Where each line begins, and the end of the text; `\\r\\n`, `\\n` and a lone `\\r` end a line.

    Raises DocumentError where there are too many.
    """
    if text.count("\n") + text.count("\r") - text.count("\r\n") > LINES:
        raise DocumentError(f"has more than {LINES:,} lines: split it")
    found = [0, *(newline.end() for newline in NEWLINE.finditer(text))]
    return found if found[-1] == len(text) else [*found, len(text)]


def _whole(text: str, found: Iterable[Span], gap: Kind) -> Iterator[Span]:
    at = 0
    for span in found:
        start, end = max(span.start, at), min(span.end, len(text))
        if start < end:
            yield Span(at, start, gap)
            yield Span(start, end, span.kind, span.level)
            at = end
    yield Span(at, len(text), gap)


def _trimmed(text: str, span: Span) -> tuple[int, int]:
    """Without the space around it; code keeps the indentation of its first line, a blank heading its space."""
    end = span.start + len(text[span.start : span.end].rstrip())
    if end == span.start:
        return (span.start, span.end) if span.kind == "heading" else (0, 0)
    first = SPACE.match(text, span.start, end).end()  # type: ignore[union-attr]  # it matches nothing, too
    if span.kind == "code":
        first = max(span.start, text.rfind("\n", span.start, first) + 1)
    return first, end
