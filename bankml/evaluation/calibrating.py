"""Floor and curve of a model from labelled queries: the FAQ's questions, and probes that it has no answer to.

What is kept is fitted on all of them. The figures are of queries that were not seen: every second question and every
second probe, the same in all languages, is judged by what was fitted on the others, and these by what was on them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from bankml.errors import InputError
from bankml.evaluation import logistic, ridge, separation
from bankml.evaluation.faq import ENGLISH, Language
from bankml.evaluation.faq import LANGUAGES as FAQ_LANGUAGES
from bankml.evaluation.logistic import Floats
from bankml.evaluation.model import Model
from bankml.evaluation.passages import cut
from bankml.evaluation.probes import LANGUAGES as PROBED
from bankml.evaluation.probes import probes
from bankml.evaluation.shelf import Results, Shelf
from bankml.memory.calibration import Calibration
from bankml.models.progress import Progress

DIGITS = 6  # of what is fitted, behind the point: below what another machine's last bits change


@dataclass(frozen=True, slots=True)
class Asked:
    """One query: its language, whether there is an answer, the number of its question or probe, what it found."""

    language: str
    answered: bool
    number: int
    results: Results

    @property
    def half(self) -> int:
        """Of which half its question is, 0 or 1."""
        return self.number % 2

    @property
    def quarter(self) -> int:
        """Of which part of its half, 0 or 1."""
        return self.number // 2 % 2

    @property
    def cosine(self) -> float:
        """The largest of its results."""
        return float(self.results.features[:, 0].max())


@dataclass(frozen=True)
class Calibrated:
    """A model's calibration, and every query that it was made of.

    `judges`: of each half of them the calibration that was fitted on the other one. `across`: queries of other
    languages put to English texts, which nothing was fitted on.
    """

    model: Model
    calibration: Calibration
    judges: tuple[Calibration, Calibration]
    asked: list[Asked]
    across: list[Asked] = field(default_factory=list)

    @property
    def languages(self) -> list[str]:
        """Those of the queries."""
        return list(dict.fromkeys(one.language for one in self.asked))

    def scores(self, one: Asked, features: Floats) -> Floats:
        """Of pairs of a query and a document, by the judge that has not seen it."""
        judge = self.judges[one.half]
        return np.array([judge.score(*each) for each in features.tolist()])

    def score(self, one: Asked) -> float:
        """The largest of its results."""
        return float(self.scores(one, one.results.features).max())

    def passes(self, one: Asked) -> float:
        """Whether any of its results is at its judge's floor or above."""
        return float(one.cosine >= self.judges[one.half].floor)


def calibrate(model: Model, languages: Sequence[Language], progress: Progress, every: bool = True) -> Calibrated:
    """A model's calibration on these languages; not `every`: on those of them that it knows (`Shelf.known`).

    Where English is one of several, the others' queries are put to it as well, and only judged by. Raises InputError
    where there is too little to fit on.
    """
    cuts = [cut(list(one.documents.values()), model) for one in languages]
    queries = [text for one in languages for text in (*one.queries.values(), *probes(one.code))]
    model.prepare(queries, [text for each in cuts for text in each.texts])
    shelves = [Shelf(*each, model) for each in zip(languages, cuts, strict=True)]
    order = {id: number for number, id in enumerate(dict.fromkeys(id for one in languages for id in one.queries))}
    kept = [one for one in shelves if every or one.known(_half(one.language.queries, order))]
    if not kept:
        raise InputError(f"{model.encoder.name} knows no language of these as well as words do: nothing is calibrated")
    asked: list[Asked] = []
    for done, shelf in enumerate(kept):
        progress(f"asking with {model.encoder.name}, languages", done, len(kept))
        asked += _asked(shelf, shelf.language, order)
    name, digest = model.encoder.name, model.encoder.digest
    across = _across(kept, order)
    return Calibrated(model, fitted(name, digest, asked), judges(name, digest, asked), asked, across)


def judges(model: str, digest: str, asked: Sequence[Asked]) -> tuple[Calibration, Calibration]:
    """Of each half of the queries, fitted on the other one."""
    first, second = (fitted(model, digest, [one for one in asked if one.half != half]) for half in (0, 1))
    return first, second


def fitted(model: str, digest: str, seen: Sequence[Asked]) -> Calibration:
    """The curve tells, at even odds, what is about a query from what is not, as `Results.pairs` say.

    The floor parts the best of queries with an answer from the best of the others.
    """
    features, about = pairs(seen)
    weights = logistic.fit(features, about, held(seen), logistic.even(about))
    floor = separation.cut(*parted(seen, lambda one: one.cosine))
    return Calibration(model, digest, *(round(float(value), DIGITS) for value in (floor, *weights)))


def held(seen: Sequence[Asked]) -> float:
    """The ridge that is best for one part of them by what was fitted on the other."""
    second = np.concatenate([np.full(len(one.results.about), one.quarter == 1) for one in seen])
    return ridge.chosen(*pairs(seen), second)


def pairs(seen: Sequence[Asked]) -> tuple[Floats, NDArray[np.bool_]]:
    """Features of all, and whether they are about what was asked."""
    return (
        np.concatenate([one.results.pairs for one in seen]),
        np.concatenate([one.results.about for one in seen]),
    )


def parted(asked: Sequence[Asked], value: Callable[[Asked], float]) -> tuple[Floats, Floats]:
    """What `value` says of the queries with an answer, and of those without."""
    yes, no = ([value(one) for one in asked if one.answered is kind] for kind in (True, False))
    return np.array(yes), np.array(no)


def curve(found: Calibrated, asked: Sequence[Asked]) -> tuple[Floats, NDArray[np.bool_]]:
    """Of the pairs of these queries: what is predicted, and whether it is about what was asked."""
    predicted = np.concatenate([found.scores(one, one.results.pairs) for one in asked])
    return predicted, pairs(asked)[1]


def _across(shelves: Sequence[Shelf], order: Mapping[str, int]) -> list[Asked]:
    """The queries of other languages, put to English texts; of those that the FAQ does not have the probes alone."""
    english = next((one for one in shelves if one.language.code == ENGLISH), None)
    others = [one.language for one in shelves if one is not english]
    if not english or not others:
        return []
    others += [Language(code, {}, {}, 0, 0) for code in PROBED if code not in FAQ_LANGUAGES]
    return [one for language in others for one in _asked(english, language, order)]


def _asked(shelf: Shelf, language: Language, order: Mapping[str, int]) -> list[Asked]:
    """The questions and the probes of a language."""
    queries = {id: text for id, text in language.queries.items() if id in shelf.language.documents}
    with_answer = shelf.results(list(queries.values()), list(queries))
    without = shelf.results(off := probes(language.code), [None] * len(off))
    return [
        *(Asked(language.code, True, order[id], found) for id, found in zip(queries, with_answer, strict=True)),
        *(Asked(language.code, False, number, found) for number, found in enumerate(without)),
    ]


def _half(queries: Mapping[str, str], order: Mapping[str, int]) -> dict[str, str]:
    return {id: text for id, text in queries.items() if order[id] % 2 == 0}
