"""Text → terms; see terms.pyx."""

from typing import Literal, TypeAlias

Mode: TypeAlias = Literal["unicode", "ascii"]

def tokens(text: str, mode: Mode = "unicode") -> list[str]:
    """The terms of the text in order, repeated as they are there. Raises InputError."""

def marked(query: str, mode: Mode = "unicode") -> frozenset[str]:
    """The terms of a query, for `spans` of many texts. Raises InputError."""

def spans(text: str, query: str | frozenset[str], mode: Mode = "unicode") -> list[tuple[int, int]]:
    """Where terms of the query stand in the text: (start, end) in its characters, in order, none touching the next.

    `query`: a str, or what `marked` makes of it in the same mode. What normalisation makes several characters of, or
    one of several, counts as one. Raises InputError.
    """
