"""HTML as tags and the text between them, in a time linear in its length whatever it is.

No tree is built: 200,000 times `<div>` took selectolax minutes and cost lxml all below the 2,048th (docs/decisions.md).
"""

import html
import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

# As HTML has it, quotes count behind `=` alone. Possessive: nothing is tried twice.
TAG = re.compile(r"<(/?)([a-zA-Z][^\s/>]*+)(?:[^>\"'=]++|=\s*+(?:\"[^\"]*+\"|'[^']*+')?+|[\"'])*+>", re.ASCII)
MARK = re.compile(r"<(?:(/?[a-zA-Z])|[/!?])")  # any other `<` is text
COMMENT_END = re.compile(r"--!?>")
CDATA, CDATA_END = "<![CDATA[", "]]>"
RAW = frozenset("script style textarea title xmp iframe noembed noframes".split())  # without tags within
TEXTS = frozenset("textarea title".split())  # that have text within, and may lack their end
VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())  # nothing ends these
ATTRIBUTE = re.compile(r"([^\s\"'>/=]++)(?:\s*+=\s*+(\"[^\"]*+\"|'[^']*+'|[^\s>\"']++))?+")
HUGE = re.compile(r"&#[0-9]{8,}+;?")  # int() refuses more than 4,300 digits


class Token(NamedTuple):
    """A tag, its name in lower case, or text, its entities resolved. `line`: where it begins, from 1."""

    line: int
    text: str = ""
    tag: str = ""
    closes: bool = False
    empty: bool = False  # `<br/>`
    attributes: str = ""  # as they are written

    def attribute(self, name: str) -> str | None:
        """Its value, its entities as they are, "" where it has none; None where the tag has no such attribute."""
        if name not in self.attributes and name not in self.attributes.lower():
            return None
        found = (one.groups() for one in ATTRIBUTE.finditer(self.attributes))
        return next(((value or "").strip("\"'") for key, value in found if key.lower() == name), None)


class _Piece(NamedTuple):
    """Characters `start` to `end` of the source: a tag's, or text as it is (`as_is`), or with entities."""

    start: int
    end: int
    tag: re.Match[str] | None = None
    as_is: bool = False


def tokens(text: str) -> Iterator[Token]:
    """The tags and texts in order, without comments, declarations, scripts and styles."""
    at, line = 0, 1
    for piece in _pieces(text):
        if piece.start < piece.end:
            line += text.count("\n", at, piece.start)
            at = piece.start
            yield _token(text, piece, line)


def _token(text: str, piece: _Piece, line: int) -> Token:
    if piece.tag:
        closes, name = piece.tag.groups()
        name, empty = name.lower(), text.endswith("/>", piece.start, piece.end)
        rest = text[piece.tag.end(2) : piece.end - 1 - empty]
        return Token(line, tag=name, closes=bool(closes), empty=empty or name in VOID, attributes=rest)
    words = text[piece.start : piece.end]
    return Token(line, words if piece.as_is or "&" not in words else html.unescape(HUGE.sub("\ufffd", words)))


def _pieces(text: str) -> Iterator[_Piece]:
    at = 0
    endless: set[str] = set()  # elements that no tag ends from here on: looked for once
    while mark := MARK.search(text, at):
        yield _Piece(at, mark.start())
        at = mark.start()
        if not mark.group(1):
            at = _end_of_other(text, at)
            if text.startswith(CDATA, mark.start()):
                yield _Piece(mark.start() + len(CDATA), at - len(CDATA_END), as_is=True)
            continue
        tag = TAG.match(text, at)
        if not tag:  # nor does any other end from here on
            break
        yield _Piece(at, at := tag.end(), tag)
        name = tag.group(2).lower()
        if name in RAW and not tag.group(1) and name not in endless:
            if end := _closing(name).search(text, at):
                yield _Piece(at, end.start() if name in TEXTS else at)
                at = end.start()
            elif name in TEXTS:
                endless.add(name)
            else:
                return
    yield _Piece(at, len(text))


def _end_of_other(text: str, at: int) -> int:
    """Behind a comment, a declaration or what else is neither a tag nor text; what never ends, ends with the text."""
    if text.startswith("<!--", at):
        found = COMMENT_END.search(text, at + 2)  # `<!-->` is one, too
        return found.end() if found else len(text)
    if text.startswith(CDATA, at):
        end = text.find(CDATA_END, at)
        return len(text) if end < 0 else end + len(CDATA_END)
    end = text.find(">", at)
    return len(text) if end < 0 else end + 1


@cache
def _closing(name: str) -> re.Pattern[str]:
    return re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE | re.ASCII)
