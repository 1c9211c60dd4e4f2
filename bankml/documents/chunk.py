"""A passage of a document: what is embedded and found."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Chunk:
    """Characters `start` to `end` of the extracted text, which are `text`.

    `heading`: the headings it stands under, its own section's included, as "A > B"; "" where there is none. `line` and
    `page`: where it starts in the source, from 1. `tokens`: of `embedded`, as they were counted.
    """

    text: str
    heading: str
    start: int
    end: int
    line: int | None
    page: int | None
    tokens: int

    @property
    def embedded(self) -> str:
        """What the model is given, before its prefix."""
        return embedded(self.heading, self.text)


def embedded(heading: str, text: str) -> str:
    """The headings and the text below them."""
    return f"{heading}\n{text}" if heading else text
