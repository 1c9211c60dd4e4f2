"""Both arms of one search, and what they give together."""

from dataclasses import dataclass
from typing import Any

from bankml.fusion import convex
from bankml.library.search import sentence
from bankml.library.search.matrix import Matrix
from bankml.library.search.passages import Ids
from bankml.library.search.ranking import NOTHING, Ranking
from bankml.library.search.words import Words


@dataclass(frozen=True, slots=True)
class MeaningArm:
    """`why`: there is none, or nothing in it."""

    why: str
    ranking: Ranking = NOTHING
    matrix: Matrix | None = None
    model: str = ""
    alpha: float = 0.0


@dataclass(frozen=True, slots=True)
class Arms:
    """`words`: None where meaning alone was asked for."""

    words: Ranking | None
    meaning: MeaningArm

    def ranked(self, n: int) -> list[tuple[int, float]]:
        """The n best passages by id, with their scores: of the fusion, or of the one arm there is."""
        if self.words is None:
            return _pairs(self.meaning.ranking)[:n]
        if self.meaning.why:
            return _pairs(self.words)[:n]
        return convex(_lists(self.words), _lists(self.meaning.ranking), self.meaning.alpha)[:n]

    def exhausted(self, depth: int) -> bool:
        """Whether no arm has more than the `depth` best that were asked for."""
        return all(len(found.ids) < depth for found in (self.words or NOTHING, self.meaning.ranking))

    def told(self, total: int, documents: Ids | None = None) -> str:
        """For the status. `documents`: their passages, which are counted alone; None: all are."""
        arm = self.meaning
        embedded = 0 if arm.matrix is None else arm.matrix.count(documents)
        if self.words is None and arm.why:
            return sentence.no_meaning(arm.why)
        if self.words is None:
            return sentence.meaning_alone(arm.model, embedded, total)
        if arm.why:
            return sentence.words_alone(Words.name, arm.why)
        return sentence.both(Words.name, arm.model, embedded, total, arm.alpha)

    def explained(self) -> dict[str, Any]:
        """For people who ask how it was found."""
        if self.meaning.matrix is None:
            return {}
        stamp = self.meaning.matrix.stamp
        return {"model": self.meaning.model, "fingerprint": stamp.fingerprint, "alpha": self.meaning.alpha}


def _lists(ranking: Ranking) -> tuple[list[int], list[float]]:
    return ranking.ids.tolist(), ranking.scores.tolist()


def _pairs(ranking: Ranking) -> list[tuple[int, float]]:
    return list(zip(*_lists(ranking), strict=True))
