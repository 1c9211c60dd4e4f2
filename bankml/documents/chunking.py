"""A text with structure → passages that the model can read whole."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

from bankml.documents.breadcrumbs import Path, breadcrumbs
from bankml.documents.chunk import Chunk, embedded
from bankml.documents.counting import Count, batched
from bankml.documents.cuts import mark, parts
from bankml.documents.extracted import Extracted
from bankml.documents.measured import measured
from bankml.documents.packing import Packing
from bankml.documents.pieces import BLOCK, CUT, Piece, pieces
from bankml.documents.places import Places
from bankml.documents.sections import Section, sections
from bankml.errors import InputError

CHUNKER = 1  # raised when the same text would be cut into other passages
SIZE, OVERLAP = 256, 32  # tokens
LEAST = 24  # tokens that must be left to text: a character may be 18 (U+FDFA)


def chunks(extracted: Extracted, count: Count, size: int = SIZE, overlap: int = OVERLAP) -> list[Chunk]:
    """The passages of a document, in order; the same for the same text.

    None has more than `size` tokens by `count`, headings, special tokens and the document's prefix included. None goes
    on into the next section, but neighbouring sections of a few words under one parent are one passage: a vector of
    three words finds little. Within a section a passage begins with the last sentences of the one before it, of at most
    `overlap` tokens. Every character that is no space is in a passage. Raises InputError where `size` leaves no room.
    """
    special = int(count([""])[0])
    if size - special < LEAST:
        raise InputError(f"chunks of {size} tokens leave no room for text: set at least {special + LEAST}")
    found = list(sections(extracted))
    whole = (piece for section in found for block in section.blocks for piece in pieces(extracted, block))
    document = _Document(extracted.text, *measured(extracted.text, whole, count, special, size // 4))
    spans = document.merged(document.spans(found), size // 4)
    headings = breadcrumbs((span.path for span in spans), count, special + size // 4)
    drafts = [
        draft
        for span in spans
        for draft in document.drafts(span, headings[span.path].line, size - headings[span.path].tokens, overlap)
    ]
    places = Places(extracted)
    return [
        Chunk(
            extracted.text[draft.start : draft.end], draft.heading, draft.start, draft.end, *places.of(draft.start), n
        )
        for draft, n in _fitting(extracted.text, drafts, count, size)
    ]


class _Span(NamedTuple):
    """Pieces `first` to `last` of a section, or of several small ones, which stand under `path`."""

    section: Section
    path: Path
    first: int
    last: int


class _Draft(NamedTuple):
    """A passage before its tokens are counted as a whole. Up to `body` it repeats the one before."""

    heading: str
    start: int
    body: int
    end: int


class _Document:
    """A text in pieces of known cost."""

    def __init__(self, text: str, pieces: list[Piece], costs: list[int]) -> None:
        self._text, self._pieces, self._costs = text, pieces, costs
        self._starts = [piece.start for piece in pieces]
        self._packing = Packing(
            costs,
            border=lambda at: pieces[at - 1].border,
            mark=lambda at: mark(text, pieces[at].start),
            repeats=lambda at: pieces[at].repeats,
        )

    def spans(self, found: Iterable[Section]) -> Iterator[_Span]:
        """Which pieces are a section's, without those that have none."""
        for section in found:
            first = bisect_left(self._starts, section.blocks[0].start)
            last = bisect_left(self._starts, section.blocks[-1].end)
            if first < last:
                yield _Span(section, section.path, first, last)

    def merged(self, found: Iterable[_Span], room: int) -> list[_Span]:
        """With small sections side by side as one, as long as they cost no more than `room`."""
        groups = groupby(
            found, key=lambda span: self._small(span, room // 2) and (span.section.parent, span.section.level)
        )
        return [span for key, group in groups for span in (self._joined(list(group), room) if key else group)]

    def drafts(self, span: _Span, heading: str, room: int, overlap: int) -> Iterator[_Draft]:
        """The passages of a span."""
        at = self._pieces
        for first, body, end in self._packing.passages(span.first, span.last, room, overlap):
            yield _Draft(heading, at[first].start, at[body].start, at[end - 1].end)

    def _small(self, span: _Span, most: int) -> bool:
        """A section below a heading that it alone brings along is no neighbour of the one before."""
        blocks = span.section.blocks
        alone = blocks[0].kind == "heading" and max(1, blocks[0].level) < span.section.level
        return not alone and self._cost(span) <= most

    def _cost(self, span: _Span) -> int:
        return sum(self._costs[span.first : span.last])

    def _joined(self, spans: list[_Span], room: int) -> Iterator[_Span]:
        packing = Packing(
            [self._cost(span) for span in spans],
            border=lambda at: BLOCK,
            mark=lambda at: mark(self._text, self._starts[spans[at].first]),
        )
        for first, _, end in packing.passages(0, len(spans), room, 0):
            path = spans[first].path if end - first == 1 else spans[first].section.parent
            yield _Span(spans[first].section, path, spans[first].first, spans[end - 1].last)


def _fitting(text: str, drafts: list[_Draft], count: Count, size: int) -> Iterator[tuple[_Draft, int]]:
    """The drafts with their tokens; in smaller ones what together has more tokens than its pieces had alone."""
    texts = (embedded(draft.heading, text[draft.start : draft.end]) for draft in drafts)
    for draft, tokens in zip(drafts, batched(texts, count), strict=True):
        if tokens <= size:
            yield draft, tokens
        else:
            yield from _fitting(text, list(_smaller(text, draft, size)), count, size)


def _smaller(text: str, draft: _Draft, size: int) -> Iterator[_Draft]:
    """Without what it repeats, else in two, else without its heading."""
    heading, start, body, end = draft
    if start < body:
        yield _Draft(heading, body, body, end)
    elif end - start > 1:
        for part in parts(text, Piece(start, end, CUT), (end - start + 1) // 2):
            yield _Draft(heading, part.start, part.start, part.end)
    elif heading:
        yield _Draft("", start, start, end)
    else:
        raise InputError(f"chunks of {size} tokens leave no room for {text[start:end]!r}: set more")
