"""Texts with structure for tests, made without an extractor."""

import re

from hypothesis import strategies as st

from bankml.documents.extracted import Block, Extracted

PARAGRAPH = re.compile(r"(?:[^\n]*\S[^\n]*(?:\n|\Z))+")
HEADING = re.compile(r"(#{1,6}) [^\n]*\n?")
KINDS = ("heading", "paragraph", "list", "code", "table", "row")


def markdown(text: str) -> Extracted:
    """Headings with # and paragraphs between blank lines: enough of Markdown to cut it."""
    return Extracted(text, "markdown", "", tuple(_blocks(text)), True)


def plain(text: str, kind: str = "paragraph") -> Extracted:
    """All of it as one block."""
    return Extracted(text, "text", "", (Block(0, len(text), kind),), True)


def _blocks(text: str):
    for found in PARAGRAPH.finditer(text):
        start, end = found.span()
        if heading := HEADING.match(text, start, end):
            yield Block(start, heading.end(), "heading", len(heading[1]))
            start = heading.end()
        if text[start:end].strip():
            yield Block(start, end, "list" if text[start] == "-" else "paragraph")


@st.composite
def extracted(draw, texts: st.SearchStrategy[str]) -> Extracted:
    """Any blocks of any texts, one behind the other."""
    parts = draw(st.lists(st.tuples(texts, st.sampled_from(KINDS), st.integers(1, 7)), max_size=12))
    text, blocks = "", []
    for part, kind, level in parts:
        blocks.append(
            Block(len(text), len(text) + len(part), kind, level if kind == "heading" else 0, page=len(blocks) + 1)
        )
        text += part + draw(st.sampled_from(("", "\n", "\n\n", " ")))
    return Extracted(text, "text", "", tuple(blocks), draw(st.booleans()))
