"""A text as pieces that are not cut without need: sentences, items, rows and lines, with what ends each of them."""

# ruff: noqa: RUF001 - marks of other scripts look like ASCII's

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from bankml.documents.extracted import Block, Extracted
from bankml.documents.sentences import ends

# What ends a piece, the better the higher: passages end at the best that is near.
CUT, SPACE, CLAUSE, SENTENCE, LINE, BLOCK = range(6)

BLANK = re.compile(r"\n[^\S\n]*\n\s*")
NEWLINE = re.compile(r"\n\s*")
ITEM = re.compile(r"\n(?=[^\S\n]*(?:[-*+•‣◦–]|\d{1,4}[.)])[^\S\n])\s*")


class Piece(NamedTuple):
    """Characters `start` to `end`, without space at either. `repeats`: whether the next passage may begin with it."""

    start: int
    end: int
    border: int
    repeats: bool = True


def pieces(extracted: Extracted, block: Block) -> Iterator[Piece]:
    """The pieces of a block; none where it is blank."""
    text = extracted.text
    kinds = {"code": _code, "list": _list, "table": _table, "row": _row}
    borders = [(block.start, CUT), *kinds.get(block.kind, _prose)(text, block.start, block.end), (block.end, BLOCK)]
    repeats = block.kind not in ("table", "row")
    for (start, _), (end, border) in pairwise(borders):
        if piece := trimmed(text, start, end, border, repeats and not (block.kind == "code" and border == BLOCK)):
            yield piece


def trimmed(text: str, start: int, end: int, border: int, repeats: bool) -> Piece | None:
    """Without the space around it; None where there is nothing else."""
    inner = text[start:end]
    left = len(inner) - len(inner.lstrip())
    right = len(inner.rstrip())
    return Piece(start + left, start + right, border, repeats) if left < right else None


def _prose(text: str, start: int, end: int) -> list[tuple[int, int]]:
    found = dict.fromkeys(ends(text, start, end), SENTENCE)
    found.update(_places(BLANK, LINE, text, start, end))
    return sorted(found.items())


def _list(text: str, start: int, end: int) -> list[tuple[int, int]]:
    return sorted({**dict(_prose(text, start, end)), **_places(ITEM, LINE, text, start, end)}.items())


def _table(text: str, start: int, end: int) -> list[tuple[int, int]]:
    return sorted(_places(NEWLINE, LINE, text, start, end).items())


def _row(text: str, start: int, end: int) -> list[tuple[int, int]]:
    return sorted({**_places(NEWLINE, SENTENCE, text, start, end), **dict(_prose(text, start, end))}.items())


def _code(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Lines; better than these, blank lines; better still, blank lines before what is not indented."""
    return [(found.start() + 1, _code_border(text, found)) for found in NEWLINE.finditer(text, start, end)]


def _code_border(text: str, found: re.Match[str]) -> int:
    space = found.group()
    if space.count("\n") < 2:
        return SENTENCE
    return BLOCK if space.endswith("\n") and text[found.end() : found.end() + 1] not in ("}", ")", "]", "") else LINE


def _places(pattern: re.Pattern[str], border: int, text: str, start: int, end: int) -> dict[int, int]:
    return {found.end(): border for found in pattern.finditer(text, start, end) if start < found.end() < end}
