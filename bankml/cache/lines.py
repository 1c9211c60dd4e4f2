"""The lines of an .emb, read in blocks: one may be too long to be held, and the last unfinished."""

import os
from collections.abc import Iterator
from typing import NamedTuple

from bankml.cache.line import LONGEST

BLOCK = 1 << 20  # bytes read at once


class Line(NamedTuple):
    """A line and where it lies."""

    begin: int
    end: int  # behind its newline
    whole: bool  # it ends with a newline
    text: bytes  # without it; of a line that is too long, more than LONGEST of its bytes


def lines(descriptor: int, begin: int, end: int) -> Iterator[Line]:
    """Those of the bytes from `begin` to `end`; memory is a block and a line, however long the line is."""
    at, rest, dropped = begin, b"", 0  # `at`: where the line begins that `rest` is of
    while block := _block(descriptor, at + len(rest) + dropped, end):
        *whole, rest = (rest + block).split(b"\n")
        for text in whole:
            behind = at + len(text) + dropped + 1
            yield Line(at, behind, True, text)
            at, dropped = behind, 0
        if len(rest) > LONGEST + 1:
            rest, dropped = rest[: LONGEST + 1], dropped + len(rest) - LONGEST - 1
    if rest:
        yield Line(at, at + len(rest) + dropped, False, rest)


def _block(descriptor: int, begin: int, end: int) -> bytes:
    return os.pread(descriptor, min(BLOCK, end - begin), begin)
