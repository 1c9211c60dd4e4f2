"""What a query of records gives."""

from dataclasses import dataclass, field
from typing import Any

from bankml.store.record import Freshness, Record

Score = float | str


@dataclass(frozen=True, slots=True)
class Memory:
    """A record that was found. Ranks count from 1 among records; None in an arm that does not have it among its best.

    `score`: 0…1 as calibrated for the model, else "uncalibrated (…)" with why. `weak`: whether the cosine is below the
    model's floor; None where no floor was measured, or there is no cosine. `exact`: the query names it or quotes it:
    then it is not weak, and a calibrated score is 1.
    """

    record: Record
    freshness: Freshness  # as seen now
    repository: str  # "": this one, else a peer's name
    score: Score
    cosine: float | None  # of its best passage
    weak: bool | None
    relevance: float  # 0…1: what orders them
    coverage: float  # 0…1: the share of the query's terms that it holds, by idf
    words_rank: int | None
    meaning_rank: int | None
    passage: str  # the best one's text
    factors: dict[str, float] = field(default_factory=dict)  # of the relevance, by name
    exact: bool = False

    @property
    def explained(self) -> dict[str, Any]:
        """All that ranked it, by name."""
        return {
            "relevance": self.relevance,
            "words_rank": self.words_rank,
            "meaning_rank": self.meaning_rank,
            "coverage": self.coverage,
            **self.factors,
        }


@dataclass(frozen=True, slots=True)
class Recalled:
    """`pending`: the query's meaning is being computed; asked again in a moment, there is more.

    `explained`: how it was found, for people, by name. `marks`: the terms of the query that are worth marking.
    """

    results: list[Memory]
    status: str
    pending: bool = False
    explained: dict[str, Any] = field(default_factory=dict)
    marks: frozenset[str] = frozenset()
