"""A file of lines, read in blocks: a line may be too long to be held, and the last one unfinished."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

BLOCK = 1 << 20
MAX_LINE = 64 << 20  # bytes of a line that are held; a longer one is no exchange


@dataclass(frozen=True, slots=True)
class Line:
    """Bytes without the newline; None when there are more than MAX_LINE. `end`: where the next line begins."""

    start: int
    end: int
    bytes: bytes | None
    finished: bool  # it ends in a newline


def lines(file: BinaryIO, start: int = 0) -> Iterator[Line]:
    """The lines from `start` to the end of the file; `\\n` ends a line, and nothing else does."""
    file.seek(start)
    held: list[bytes] = []  # of the line that begins at `start`
    size = 0
    while block := file.read(BLOCK):
        first = 0
        while (newline := block.find(b"\n", first)) >= 0:
            size += newline - first
            yield Line(start, start + size + 1, _joined(held, size, block[first:newline]), True)
            start, size, held, first = start + size + 1, 0, [], newline + 1
        size += len(block) - first
        held = [*held, block[first:]] if size <= MAX_LINE else []
    if size:
        yield Line(start, start + size, _joined(held, size, b""), False)


def _joined(held: list[bytes], size: int, last: bytes) -> bytes | None:
    return b"".join([*held, last]) if size <= MAX_LINE else None
