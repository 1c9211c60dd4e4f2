"""The Debian FAQ by section: what somebody would embed of it."""

import re
from html.parser import HTMLParser

from oracle import texts

LANGUAGES = texts.LANGUAGES
HEADING = re.compile(r"(?=<h[2-6]\b)")
SILENT = frozenset({"script", "style"})


def sections(language: str) -> list[str]:
    """Title and text of every section, in order; the package is downloaded the first time."""
    return [text for page in texts.pages(language) for part in HEADING.split(page)[1:] if (text := _text(part))]


def _text(part: str) -> str:
    parser = _Text()
    parser.feed(part)
    parser.close()
    return " ".join(" ".join(parser.pieces).split())


class _Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[str] = []
        self._silent = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self._silent += tag in SILENT

    def handle_endtag(self, tag: str) -> None:
        self._silent -= tag in SILENT

    def handle_data(self, data: str) -> None:
        if self._silent <= 0:
            self.pieces.append(data)
