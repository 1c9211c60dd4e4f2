"""The lines of a file, read in blocks: a line may be too long to be held, and the last one unfinished."""

import os
import sys
from collections.abc import Iterator
from typing import NamedTuple

BLOCK = 1 << 20  # bytes read at once


class Line(NamedTuple):
    """Bytes without the newline; None when there are more than were to be held. `end`: where the next line begins."""

    start: int
    end: int
    bytes: bytes | None
    finished: bool  # it ends in a newline


def lines(descriptor: int, longest: int, start: int = 0, end: int = sys.maxsize) -> Iterator[Line]:
    """Those of the bytes from `start` to `end` or the end of the file; `\\n` ends a line, and nothing else does.

    At most a block and a line of `longest` bytes are held, however long a line is.
    """
    held: list[bytes] = []  # of the line that begins at `start`
    size, at = 0, start
    while block := os.pread(descriptor, min(BLOCK, end - at), at):
        first = 0
        while (newline := block.find(b"\n", first)) >= 0:
            held.append(block[first:newline])
            size += newline - first
            yield Line(start, start + size + 1, _joined(held, size, longest), True)
            start, size, held, first = start + size + 1, 0, [], newline + 1
        size, at = size + len(block) - first, at + len(block)
        held = [*held, block[first:]] if size <= longest else []
    if size:
        yield Line(start, start + size, _joined(held, size, longest), False)


def _joined(held: list[bytes], size: int, longest: int) -> bytes | None:
    return b"".join(held) if size <= longest else None
