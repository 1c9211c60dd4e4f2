"""HTML → headings, paragraphs, lists, tables and code: what a reader of the page sees, without its navigation."""

import re
from html import unescape

from bankml.documents.assembly import Assembly
from bankml.documents.extracted import Extracted, Kind
from bankml.documents.markup import Token, tokens
from bankml.documents.titles import PERMALINK, of_file, shortened

HEADINGS = {f"h{level}": level for level in range(1, 7)}
LISTS = frozenset("ul ol dl menu dir".split())
NEVER = frozenset("script style template noscript svg math iframe object canvas audio video noembed noframes".split())
NOISE = frozenset("nav footer button select datalist dialog".split())  # kept where a page is nothing else
ROLES = frozenset("navigation search banner contentinfo dialog alertdialog menu menubar toolbar".split())
# Links of a heading to itself, what DocBook and Sphinx lead on with, and mdBook's help.
CLASSES = frozenset(
    "headerlink hash-link permalink doc-anchor navheader navfooter sphinxsidebar skip-link footer".split()
)
IDS = frozenset(["mdbook-help-container", "mdbook-help-popup"])
MARKED = "*"  # in place of a name: what its attributes leave out
SKIP = re.compile(
    r"skip (?:to|navigation)(?: the)?(?: main| primary| page)?(?: content| navigation| search| footer)?\W*", re.I
)
TEXINFO = re.compile(r"(?=.*\bUp: )(?:Next|Previous|Prev|Up): [^\n]{1,300}")  # what leads on, above and below a page
# What ends a line of text; in lists and tables, where it is set out by LINES, it is a space.
BLOCKS = frozenset(
    "address article aside blockquote body center details div fieldset figcaption figure footer form head header "
    "hgroup hr html legend main nav option p pre section summary textarea table caption tr td th li dt dd".split()
)
LINES = {"br": "\n", "tr": "\n", "caption": "\n", "td": " | ", "th": " | ", "li": "\n- ", "dt": "\n- ", "dd": "\n  "}
SPACES = re.compile(r"\s+")
DECLARED = re.compile(
    rb"<meta[^>]{0,200}charset=[\"' ]*([-\w.:]+)|<\?xml[^>]{0,80}encoding=[\"']([-\w.:]+)", re.IGNORECASE
)


def html(name: str, text: str, notes: tuple[str, ...]) -> Extracted:
    """Blocks have the line of their first words."""
    reading = _read(text, NEVER | NOISE | {"aside", MARKED})
    if not reading.assembly.blocks:
        reading = _read(text, NEVER)
    title = shortened(reading.title) or shortened(reading.first_heading) or of_file(name)
    return reading.assembly.extracted("html", title, notes)


def _read(text: str, left_out: frozenset[str]) -> "_Reading":
    """An element that is left out and never ends would take all the rest along, so then it is not left out."""
    while True:
        reading = _Reading(left_out)
        for token in tokens(text):
            reading.read(token)
        reading.flush()
        if not reading.outside:
            return reading
        left_out -= {reading.outside}


class _Reading:
    """One pass over a page. Of what is open it counts lists, tables and such alone, so no nesting costs anything."""

    def __init__(self, left_out: frozenset[str]) -> None:
        self.assembly = Assembly()
        self.title = self.first_heading = ""
        self.outside = ""  # the element that is being left out
        self._left_out = left_out
        self._depth = 0  # of it within itself
        self._ends = ""  # its tag
        self._main = 0  # of what is the page's own, whose asides are
        self._open = {"title": 0, "pre": 0, "table": 0, "list": 0}
        self._level = 0  # of the heading that is open
        self._words: list[str] = []
        self._line: int | None = None

    def read(self, token: Token) -> None:
        """The next token of the page."""
        if outside := self.outside or self._why(token):
            self._leave_out(token, outside)
        elif token.tag:
            self._tag(token)
        elif self._open["title"]:
            self.title = self.title or token.text
        else:
            self._text(token)

    def flush(self) -> None:
        """Ends the block; it becomes one if there is anything in it."""
        if not self._words:
            return
        kind, text = self._kind(), "".join(self._words)
        if kind != "code":
            lines = (" ".join(line.split()).strip("| ") for line in text.split("\n"))
            text = "\n".join(line for line in lines if line.strip("- "))
        if kind == "paragraph" and (SKIP.fullmatch(text) or TEXINFO.fullmatch(text)):
            text = ""
        if kind == "heading":
            text = PERMALINK.sub("", text.replace("\n", " "))
            self.first_heading = self.first_heading or text
        self.assembly.add(text, kind, self._level if kind == "heading" else 0, self._line)
        self._words, self._line = [], None

    def _why(self, token: Token) -> str:
        """By which of the rules it is left out, if it is."""
        if token.tag == "aside" and self._main:
            return ""
        if token.tag in self._left_out:
            return token.tag
        return MARKED if MARKED in self._left_out and not token.closes and _is_marked(token) else ""

    def _leave_out(self, token: Token, why: str) -> None:
        if token.empty:
            return
        if not self.outside and not token.closes:
            self.outside, self._ends = why, token.tag
        if self.outside and token.tag == self._ends:
            self._depth += -1 if token.closes else 1
            self.outside = self.outside if self._depth else ""

    def _text(self, token: Token) -> None:
        if self._line is None and not token.text.isspace():
            self._line = token.line + token.text[: len(token.text) - len(token.text.lstrip())].count("\n")
        self._words.append(token.text if self._open["pre"] else SPACES.sub(" ", token.text))

    def _tag(self, token: Token) -> None:
        if token.tag in ("main", "article"):
            self._main = max(0, self._main + (-1 if token.closes else 1))
        if token.tag == "img" and (alt := unescape(token.attribute("alt") or "").strip()):
            self._text(Token(token.line, f" {alt} "))
        tag = "list" if token.tag in LISTS else token.tag
        if tag in self._open:
            nested = self._open[tag] - token.closes > 0 or (tag == "list" and self._open["table"] > 0)
            self._words.append("\n" if nested else "") if nested else self.flush()
            self._open[tag] = max(0, self._open[tag] + (-1 if token.closes else 1))
        elif tag in HEADINGS:
            self.flush()
            self._level = 0 if token.closes else HEADINGS[tag]
        elif tag in BLOCKS or tag == "br":
            self._border(tag, token.closes)

    def _border(self, tag: str, closes: bool) -> None:
        """Between lines, cells and items of a block, or between blocks."""
        if tag == "br" or (self._kind() in ("table", "list") and not closes):
            self._words.append(LINES.get(tag, " "))
        elif self._kind() in ("table", "list"):
            self._words.append(" ")
        elif self._kind() == "paragraph":
            self.flush()

    def _kind(self) -> Kind:
        if self._open["pre"]:
            return "code"
        if self._level:
            return "heading"
        return "table" if self._open["table"] else "list" if self._open["list"] else "paragraph"


def _is_marked(token: Token) -> bool:
    """Whether its attributes say that it is not seen, or is no part of what the page says."""
    if not token.attributes or token.tag in ("html", "body", "main"):
        return False
    if token.attribute("hidden") not in (None, "until-found") or token.attribute("aria-hidden") == "true":
        return True
    return (
        (token.attribute("role") or "").lower() in ROLES
        or token.attribute("id") in IDS
        or not CLASSES.isdisjoint((token.attribute("class") or "").split())
    )
