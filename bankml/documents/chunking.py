"""A text with structure → passages that the model can read whole."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from bankml.documents.breadcrumbs import BETWEEN, breadcrumbs, titled
from bankml.documents.chunk import Chunk, embedded
from bankml.documents.counting import Count, batched
from bankml.documents.cuts import mark, parts
from bankml.documents.extracted import Extracted
from bankml.documents.measured import Measured
from bankml.documents.packing import Packing
from bankml.documents.pieces import CUT, Piece, pieces
from bankml.documents.places import Places
from bankml.documents.sections import sections
from bankml.documents.spans import Span, spans
from bankml.documents.tables import Headers
from bankml.errors import DocumentError, InputError

CHUNKER = 1  # raised when the same text would be cut into other passages
SIZE, OVERLAP = 256, 32  # tokens
PASSAGES = 250_000  # of a document: as many as 64 MiB have at a token a byte
PLAIN = frozenset("text rst markdown json jsonl csv".split())  # whose titles stand in them, or are their files' names
LEAST = 24  # tokens that must be left to text: a character may be 18 (U+FDFA)


def chunks(extracted: Extracted, count: Count, size: int = SIZE, overlap: int = OVERLAP) -> list[Chunk]:
    """The passages of a document, in order; the same for the same text.

    None has more than `size` tokens by `count`, headings, special tokens and the document's prefix included. None goes
    on into the next section, but neighbouring sections of a few words under one parent are one passage. Within a
    section a passage begins with the last sentences of the one before it, of at most `overlap` tokens. Every character
    that is no space is in a passage. Each stands under the document's title, where its headings do not say it. Raises
    InputError where `size` leaves no room, and DocumentError where there are more than `PASSAGES`.
    """
    special = int(count([""])[0])
    if size - special < LEAST:
        raise InputError(f"chunks of {size} tokens leave no room for text: set at least {special + LEAST}")
    text, found = extracted.text, list(sections(extracted))
    whole = (piece for section in found for block in section.blocks for piece in pieces(extracted, block))
    measured = Measured(text, whole, count, special, size // 4)
    drafts = _drafts(extracted, measured, spans(found, measured, size), count, size, overlap)
    places = Places(extracted)
    return [
        Chunk(text[draft.start : draft.end], draft.heading, draft.start, draft.end, *places.of(draft.start), tokens)
        for draft, tokens in _fitting(text, drafts, count, size)
    ]


class _Draft(NamedTuple):
    """A passage before its tokens are counted as a whole. Up to `body` it repeats the one before.

    `plain`: the heading without what the columns of its table are called.
    """

    heading: str
    plain: str
    start: int
    body: int
    end: int


def _drafts(
    extracted: Extracted, measured: Measured, found: Iterable[Span], count: Count, size: int, overlap: int
) -> list[_Draft]:
    """The passages as the costs of their pieces have them."""
    found = list(found)
    special = int(count([""])[0])
    title = _title(extracted)
    paths = {span.path: titled(title, span.path) for span in found}
    lines = breadcrumbs(paths.values(), count, special + size // 4)
    at, headers = measured.pieces, Headers(extracted, count, special + size // 8)
    packing = Packing(
        measured.costs,
        border=lambda number: at[number - 1].border,
        mark=lambda number: mark(measured.text, at[number].start),
        repeats=lambda number: at[number].repeats,
    )
    drafts = list[_Draft]()
    for span in found:
        line, tokens = lines[paths[span.path]]
        room = size - tokens - headers.tokens(at[span.first].start, at[span.last - 1].end)
        for first, body, end in packing.passages(span.first, span.last, room, overlap):
            heading = BETWEEN.join(filter(None, (line, headers.above(at[first].start))))
            if len(drafts) == PASSAGES:
                raise DocumentError(f"has more than {PASSAGES:,} passages: split it, or leave it out")
            drafts.append(_Draft(heading, line, at[first].start, at[body].start, at[end - 1].end))
    return drafts


def _title(extracted: Extracted) -> str:
    """Of plain texts what stands above their headings, as front matter does.

    Else it is their first heading, which is above what is below it alone, or the file's name, and a copy of a text is
    to be the same passages. Of others, as of code, the file's name says the most.
    """
    first = extracted.blocks[0] if extracted.blocks else None
    if not first or extracted.type not in PLAIN:
        return extracted.title
    above = extracted.text[first.start : first.end] if first.kind != "heading" else ""
    return extracted.title if extracted.title in above else ""


def _fitting(text: str, drafts: list[_Draft], count: Count, size: int) -> Iterator[tuple[_Draft, int]]:
    """The drafts with their tokens; in smaller ones what together has more tokens than its pieces had alone."""
    last = -1  # where the one before begins
    for draft, tokens in zip(drafts, batched((_embedded(text, draft) for draft in drafts), count), strict=True):
        if draft.start <= last:  # as the one before was made smaller
            draft = draft._replace(start=draft.body)
            tokens = int(count([_embedded(text, draft)])[0])
        smaller = _fitting(text, list(_smaller(text, draft, size)), count, size) if tokens > size else ()
        for fitting in smaller or ((draft, tokens),):
            last = fitting[0].start
            yield fitting


def _embedded(text: str, draft: _Draft) -> str:
    return embedded(draft.heading, text[draft.start : draft.end])


def _smaller(text: str, draft: _Draft, size: int) -> Iterator[_Draft]:
    """Without its columns, else without what it repeats, else in two, else without its heading."""
    heading, plain, start, body, end = draft
    if heading != plain:
        yield draft._replace(heading=plain)
    elif start < body:
        yield draft._replace(start=body)
    elif end - start > 1:
        for part in parts(text, Piece(start, end, CUT), (end - start + 1) // 2):
            yield _Draft(heading, plain, part.start, part.start, part.end)
    elif heading:
        yield _Draft("", "", start, start, end)
    else:
        raise InputError(f"chunks of {size} tokens leave no room for {text[start:end]!r}: set more")
