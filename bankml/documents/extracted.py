"""What an extractor makes of a file: its text, and where in it the structure is."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["heading", "paragraph", "list", "code", "table", "row"]


@dataclass(frozen=True, slots=True)
class Block:
    """Characters `start` to `end` of the text. `line` and `page`: where it starts in the source, from 1.

    A heading that is blank ends what stands under the headings of its level and below, and has no title.
    """

    start: int
    end: int
    kind: Kind
    level: int = 0  # of a heading, from 1
    line: int | None = None
    page: int | None = None


@dataclass(frozen=True, slots=True)
class Extracted:
    """A text with structure. Blocks are in order, do not overlap and hold every character that is no space."""

    text: str
    type: str  # "text", "markdown", "html", "code", "json", "jsonl", "csv", "pdf", "docx", …
    title: str
    blocks: tuple[Block, ...]
    has_lines: bool  # the text is the source's own: a line number is 1 + the newlines before a character
    notes: tuple[str, ...] = ()
