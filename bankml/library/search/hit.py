"""What a search gives."""

from dataclasses import dataclass, field
from typing import Any

from bankml.library.search.copies import Place


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that was found. Ranks count from 1; None in an arm that does not have it among its best."""

    id: int  # the passage's, of no other one ever
    path: str  # as Python writes one: what is no UTF-8 is a lone surrogate
    title: str
    type: str
    document: int
    heading: str
    text: str
    line: int | None  # where it begins in its file, from 1
    page: int | None
    start: int  # characters of what was extracted
    end: int
    score: float  # of the fusion, or of the one arm: tells the order, and nothing of strength
    cosine: float | None  # to the query; None where one of them has no vector
    words_rank: int | None
    meaning_rank: int | None
    others: int = 0  # passages of the same text and headings elsewhere, for which this one stands
    also: list[Place] = field(default_factory=list)  # the first of them


@dataclass(frozen=True, slots=True)
class Found:
    """`pending`: the query's meaning is being computed; asked again in a moment, there is more.

    `explained`: how it was found, for people, by name. `marks`: the terms of the query that are worth marking.
    """

    results: list[Hit]
    status: str
    pending: bool = False
    explained: dict[str, Any] = field(default_factory=dict)
    marks: frozenset[str] = frozenset()
