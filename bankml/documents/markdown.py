"""Markdown → headings, lists, code, tables and paragraphs; the text stays as it is, marks and all."""

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from bankml.documents.covering import Span, covering, starts
from bankml.documents.extracted import Extracted, Kind
from bankml.documents.titles import shortened, titled

if TYPE_CHECKING:
    from markdown_it.token import Token

KINDS: dict[str, Kind] = {
    "heading_open": "heading",
    "paragraph_open": "paragraph",
    "blockquote_open": "paragraph",
    "html_block": "paragraph",
    "hr": "paragraph",
    "bullet_list_open": "list",
    "ordered_list_open": "list",
    "fence": "code",
    "code_block": "code",
    "table_open": "table",
}
FRONT_MATTER = re.compile(r"---[ \t]*\r?\n(?:(?!---|\.\.\.)[^\n]*\n){0,500}?(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)")
TITLE = re.compile(r"^title:[ \t]*(['\"]?)(.+?)\1[ \t]*\r?$", re.MULTILINE)
COMMENT, BLANK = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL), re.compile(r"[^\r\n]")
PARSED = 1 << 22  # characters, half a megabyte a second; of a longer text the headings alone are found
HEADING = re.compile(r"^(#{1,6})[ \t]+\S.*$", re.MULTILINE)


def markdown(name: str, text: str, notes: tuple[str, ...], comments: bool = False) -> Extracted:
    """The blocks of CommonMark with tables, and front matter, whose title counts before the first heading.

    Where it has blocks of HTML's comments they are blank, but for their newlines, unless `comments` are wanted.
    """
    front = FRONT_MATTER.match(text)
    at = front.end() if front else 0
    if len(text) - at <= PARSED:
        tokens = [token for token in _tokens(text[at:]) if token.level == 0 and token.map]
        spans = list(_parsed(text, at, tokens))
        text = text if comments else _without_comments(text, at, tokens)
    else:
        spans = [Span(*found.span(), "heading", len(found.group(1))) for found in HEADING.finditer(text, at)]
        notes = (*notes, f"longer than {PARSED >> 20} million characters: its headings alone are told from its text")
    blocks = covering(text, [*([Span(0, at, "code")] if front else []), *spans])
    title = TITLE.search(text, 0, at)
    called = shortened(title.group(2)) if title else titled(name, text, blocks[1:] if front else blocks)
    return Extracted(text, "markdown", called, blocks, has_lines=True, notes=notes)


def _parsed(text: str, at: int, tokens: "Iterable[Token]") -> Iterator[Span]:
    lines = [at + start for start in starts(text[at:])]
    for token in tokens:
        if token.map and (kind := KINDS.get(token.type)):
            first, last = (min(line, len(lines) - 1) for line in token.map)
            yield Span(lines[first], lines[last], kind, int(token.tag[1:]) if kind == "heading" else 0)


def _without_comments(text: str, at: int, tokens: "Iterable[Token]") -> str:
    """Of blocks of HTML alone: in a paragraph or in code they may be what it is about."""
    blocks = [token for token in tokens if token.type == "html_block" and "<!--" in token.content]
    if not blocks:
        return text
    parts, end = [], 0
    for span in _parsed(text, at, blocks):
        blank = COMMENT.sub(lambda found: BLANK.sub(" ", found.group()), text[span.start : span.end])
        parts += [text[end : span.start], blank]
        end = span.end
    return "".join([*parts, text[end:]])


def _tokens(text: str) -> "list[Token]":
    """Blocks alone: what is emphasised or linked within them changes nothing here."""
    from markdown_it import MarkdownIt  # 30 ms, which a search can do without

    return MarkdownIt("commonmark").enable("table").disable("inline").parse(text)
