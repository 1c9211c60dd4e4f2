"""A part of a document, as it is found: what a chunk is to the store."""

from dataclasses import dataclass

from bankml.cache import key

TEXT_RECIPE = 1  # how `embedded` is put together; another recipe gives other vectors


def embedded(heading: str, text: str) -> str:
    """What is embedded, behind the prefix that the model wants, and what words are taken from."""
    return f"{heading}\n{text}" if heading else text


@dataclass(frozen=True, slots=True)
class Passage:
    """`start` and `end`: characters of the document's extracted text. `line` and `page` count from 1."""

    text: str
    heading: str  # the headings above, "A > B", or ""
    start: int
    end: int
    line: int | None
    page: int | None
    tokens: int  # of what is embedded, prefix and special ones included

    @property
    def embedded(self) -> str:
        """As the function of this name."""
        return embedded(self.heading, self.text)

    @property
    def key(self) -> str:
        """sha256 of `embedded`, hex: equal ones need one vector."""
        return key(self.embedded)
