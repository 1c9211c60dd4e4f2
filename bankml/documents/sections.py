"""A document's blocks as sections: what stands under one heading, up to the next."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from bankml.documents.extracted import Block, Extracted

MARKS = re.compile(r"\A[^\S\n]{0,3}#{1,6}(?=\s)|[^\S\n]#+\s*\Z|\n[^\S\n]{0,3}(?:=+|-+)\s*\Z")  # Markdown's own
INLINE = (  # of Markdown, and what replaces it: what it says of how a heading looks and where it leads
    (re.compile(r"<!--.*?-->|</?(?:a|span|img|br|code|kbd|sup|sub|b|i|em|strong)\b[^<>]*>", re.DOTALL), ""),
    (re.compile(r"!?\[([^\[\]]*)\](?:\([^()\s]*(?:[^\S\n]+\"[^\"\n]*\")?\)|\[[^\[\]]*\])"), r"\1"),
    (re.compile(r"[^\S\n]*\{[#.:][^{}\n]*\}(?=[^\S\n]*(?:\n|\Z))"), ""),
    (re.compile(r"(\*{1,3}|`+)(?=\S)([^*`\n]+)(?<=\S)\1"), r"\2"),
)
LONGEST = 256  # characters of a title in a breadcrumb
ROW = 1 << 16  # the level of a row, which is a section without a heading: below any heading's


@dataclass(frozen=True, slots=True)
class Section:
    """`path`: the titles above its text, its own last. `level`: its heading's, 0 where there is none."""

    path: tuple[str, ...]
    level: int
    blocks: tuple[Block, ...]
    leads: bool = False  # a heading alone, which the next section's text goes on from

    @property
    def parent(self) -> tuple[str, ...]:
        """The titles above its own."""
        return self.path if self.level in (0, ROW) else self.path[:-1]


def sections(extracted: Extracted) -> Iterator[Section]:
    """The sections in order. A heading without text goes with the first section below it; each row is one by itself."""
    held: Section | None = None
    for section in _headed(extracted):
        if held and section.level > held.level:
            section = replace(section, blocks=held.blocks + section.blocks)
        elif held:
            yield replace(held, leads=False)
        held = section if section.leads else None
        if not held:
            yield section
    if held:
        yield replace(held, leads=False)


def title(text: str, code: bool = False) -> str:
    """A heading as a title: without marks of Markdown, in one line, not too long. In `code` they mean something."""
    text = text[: 4 * LONGEST]
    for pattern, said in () if code else INLINE:
        text = pattern.sub(said, text)
    words = " ".join((text if code else MARKS.sub("", text)).split())
    return words if len(words) <= LONGEST else words[: LONGEST - 1] + "…"


def _headed(extracted: Extracted) -> Iterator[Section]:
    above: list[tuple[int, str]] = []
    level, own = 0, list[Block]()
    for block in _whole(extracted):
        if block.kind not in ("heading", "row"):
            own.append(block)
            continue
        yield from _section(above, level, own)
        if block.kind == "row":
            yield from _section(above, ROW, [block])
            level, own = 0, []
        else:
            level, own = max(1, block.level), [block]
            above = [pair for pair in above if pair[0] < level]
            above.append((level, title(extracted.text[block.start : block.end], extracted.type == "code")))
    yield from _section(above, level, own)


def _section(above: Iterable[tuple[int, str]], level: int, own: list[Block]) -> Iterator[Section]:
    if own:
        path = tuple(text for _, text in above if text)
        yield Section(path, level, tuple(own), own[-1].kind == "heading")


def _whole(extracted: Extracted) -> Iterator[Block]:
    """The blocks, and what lies between them where there is something, as paragraphs: nothing of a text is lost."""
    at = 0
    for block in extracted.blocks:
        if extracted.text[at : block.start].strip():
            yield Block(at, block.start, "paragraph", line=block.line, page=block.page)
        if block.end > at:
            yield replace(block, start=at) if block.start < at else block
            at = block.end
    if extracted.text[at:].strip():
        page = extracted.blocks[-1].page if extracted.blocks else None
        yield Block(at, len(extracted.text), "paragraph", page=page)
