"""Which pieces stand under which headings, where small sections are put together."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

from bankml.documents.breadcrumbs import Path
from bankml.documents.cuts import mark
from bankml.documents.measured import Measured
from bankml.documents.packing import Packing
from bankml.documents.pieces import BLOCK
from bankml.documents.sections import ROW, Section


class Span(NamedTuple):
    """Pieces `first` to before `last`: a section's, or those of several small ones under `path`."""

    section: Section
    path: Path
    first: int
    last: int


def spans(found: Iterable[Section], measured: Measured, size: int) -> list[Span]:
    """Of all sections that have pieces. Small ones side by side are one span, as long as that costs at most a room.

    Small is at most half the room: two of them then are better found together than alone, as a vector of three words
    is near to any short query. The room is a quarter of a passage's `size`, and for rows, of which a table may have a
    million, all that headings leave of it.
    """
    pairs = ((section, measured.at(section.blocks[0].start)) for section in found)
    alone = [
        Span(section, section.path, first, last)
        for section, first in pairs
        if first < (last := measured.at(section.blocks[-1].end))
    ]
    groups = groupby(alone, key=lambda span: _family(span, measured, _room(span, size) // 2))
    return [
        span
        for key, group in groups
        for together in (list(group),)
        for span in (_joined(together, measured, _room(together[0], size)) if key else together)
    ]


def _room(span: Span, size: int) -> int:
    return size * 3 // 4 if span.section.level == ROW else size // 4


def _family(span: Span, measured: Measured, most: int) -> tuple[Path, int] | None:
    """What small sections have in common with their neighbours: parent and level.

    None for one that is not small, or is below a heading that it alone brings along.
    """
    blocks = span.section.blocks
    led = blocks[0].kind == "heading" and max(1, blocks[0].level) < span.section.level
    small = not led and _cost(span, measured) <= most
    return (span.section.parent, span.section.level) if small else None


def _cost(span: Span, measured: Measured) -> int:
    return measured.cost(span.first, span.last)


def _joined(found: list[Span], measured: Measured, room: int) -> Iterator[Span]:
    packing = Packing(
        [_cost(span, measured) for span in found],
        border=lambda at: BLOCK,
        mark=lambda at: mark(measured.text, measured.pieces[found[at].first].start),
    )
    for first, _, end in packing.passages(0, len(found), room, 0):
        path = found[first].path if end - first == 1 else found[first].section.parent
        yield Span(found[first].section, path, found[first].first, found[end - 1].last)
