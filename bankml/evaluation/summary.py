"""Means of what was measured, by scope: each language and pair, all languages, from and to English, all other pairs."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bankml.evaluation.bootstrap import Bootstrap, Interval
from bankml.evaluation.faq import ENGLISH
from bankml.evaluation.measurement import METRICS, Measured
from bankml.evaluation.methods import CONVEX, MEANING, METHODS, RRF_2, RRF_60, WORDS, convex

SAME, FROM, TO, ACROSS = "same language", "English → others", "others → English", "across languages"
SCOPES: dict[str, Callable[[Measured], bool]] = {
    SAME: lambda one: one.queries == one.documents,
    FROM: lambda one: one.queries == ENGLISH != one.documents,
    TO: lambda one: one.queries != ENGLISH == one.documents,
    ACROSS: lambda one: one.queries != one.documents,
}
NAMES = tuple(method.name for method in METHODS)
TUNED = "convex, α of the other half"
STRONG, EVEN = convex(0.7).name, convex(0.5).name  # for a model that knows the language; for one that may not
CHIEF = (STRONG, EVEN, WORDS.name, MEANING.name, RRF_60.name, RRF_2.name)
# The first's values less the second's, query by query.
COMPARED = (
    (STRONG, EVEN),
    *((fused, other) for fused in (STRONG, EVEN) for other in (RRF_60.name, RRF_2.name, MEANING.name, WORDS.name)),
    (RRF_2.name, RRF_60.name),
    (RRF_60.name, MEANING.name),
    (RRF_60.name, WORDS.name),
)

Values = NDArray[np.float64]  # (queries, methods, METRICS)


@dataclass(frozen=True)
class Row:
    """The METRICS of one method in one scope, each with its interval; `queries` is how many there are."""

    scope: str
    method: str
    queries: int
    values: tuple[Interval, ...]


def rows(measured: Sequence[Measured]) -> Iterator[Row]:
    """Every method in every scope; where there are several languages, also the α chosen on questions it is not for."""
    for scope, those in scopes(measured).items():
        values, questions = _together(those)
        bootstrap = Bootstrap(questions)
        named = {name: values[:, column] for column, name in enumerate(NAMES)}
        if scope in SCOPES:
            named[TUNED] = tuned(values, questions)
        for method, found in named.items():
            yield _row(scope, method, found, bootstrap)


def differences(measured: Sequence[Measured], compared: Sequence[tuple[str, str]] = COMPARED) -> Iterator[Row]:
    """Of pairs of methods in each of SCOPES, and each language."""
    for scope, those in scopes(measured).items():
        if scope in SCOPES or SCOPES[SAME](those[0]):
            values, questions = _together(those)
            bootstrap = Bootstrap(questions)
            for first, second in compared:
                less = values[:, NAMES.index(first)] - values[:, NAMES.index(second)]
                yield _row(scope, f"{first} − {second}", less, bootstrap)


def scopes(measured: Sequence[Measured]) -> dict[str, list[Measured]]:
    """What belongs to each of SCOPES, then each language and pair alone; those without anything are left out."""
    found = {name: [one for one in measured if belongs(one)] for name, belongs in SCOPES.items()}
    return {key: those for key, those in (found | {name(one): [one] for one in measured}).items() if those}


def name(one: Measured) -> str:
    """`de`, or `de → fr`: the language of the queries, and that of the documents where it is another."""
    return one.queries if one.queries == one.documents else f"{one.queries} → {one.documents}"


def tuned(values: Values, questions: Sequence[str]) -> Values:
    """(queries, METRICS) of the convex combination whose α is the best, by nDCG, for the other half of the questions.

    What a best α of the same questions shows is too good: it was chosen among eleven by what chance gave them.
    """
    columns = [NAMES.index(method.name) for method in CONVEX]
    order = {question: number for number, question in enumerate(dict.fromkeys(questions))}
    odd = np.array([order[question] % 2 == 1 for question in questions])
    found = np.zeros((len(values), len(METRICS)))
    for half in (odd, ~odd):
        if half.any():
            others = values[~half] if (~half).any() else values
            best = columns[int(np.argmax(others[:, columns, -1].mean(axis=0)))]
            found[half] = values[half, best]
    return found


def _row(scope: str, method: str, values: Values, bootstrap: Bootstrap) -> Row:
    return Row(scope, method, len(values), tuple(bootstrap.interval(column) for column in values.T))


def _together(those: Sequence[Measured]) -> tuple[Values, list[str]]:
    """Their values one behind the other, and each query's question."""
    return np.concatenate([one.values for one in those]), [id for one in those for id in one.ids]
