"""What a calibration is worth on queries that it was not fitted on, as plain data and as lines of tables."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from bankml.evaluation import reliability, separation
from bankml.evaluation.calibrating import Asked, Calibrated, curve, held, pairs, parted
from bankml.evaluation.logistic import Floats
from bankml.evaluation.shelf import Results

EVERY, ACROSS = "all", "others → English"
AIM = 0.95  # of the area below the ROC
EVEN = 0.5


@dataclass(frozen=True, slots=True)
class Line:
    """Of the queries of one scope. `found`: the share of those with an answer whose best cosine is at least the floor;
    `false_alarms`: of those without one. `near`: the AUC where what answers is taken away instead: same subject, no
    answer. `likely`: the share of queries with an answer whose answer has a score of one half at least, wherever it
    ranks; `likely_alarms`: of those without one whose best result has. `brier` of the pairs' probabilities.
    """

    scope: str
    questions: int
    probes: int
    auc_cosine: float
    auc_score: float
    auc_coverage: float
    auc_near: float
    found: float
    false_alarms: float
    own_floor: float
    likely: float
    likely_alarms: float
    brier: float


HEADINGS = ("model", *Line.__annotations__)


def lines(found: Calibrated) -> list[Line]:
    """All languages together, each alone, and others put to English texts."""
    scopes = {EVERY: found.asked}
    if len(found.languages) > 1:
        scopes |= {code: [one for one in found.asked if one.language == code] for code in found.languages}
    scopes |= {ACROSS: found.across}
    return [_line(found, scope, asked) for scope, asked in scopes.items() if asked]


def data(found: Calibrated) -> dict[str, Any]:
    """All of it, for JSON."""
    encoder = found.model.encoder
    return {
        "model": encoder.name,
        "digest": encoder.digest,
        "dims": encoder.dims,
        "query_prefix": found.model.prefixes.query,
        "document_prefix": found.model.prefixes.document,
        "languages": found.languages,
        "calibration": found.calibration.entry,
        "ridge": held(found.asked),
        "coverage": (coverage := middling(found)),
        "score_at_floor": found.calibration.score(found.calibration.floor, coverage),
        "figures": [asdict(line) for line in lines(found)],
        "reliability": [asdict(one) for one in reliability.table(*curve(found, found.asked))],
        "roc": {
            "cosine": separation.roc(*parted(found.asked, lambda one: one.cosine)),
            "score": separation.roc(*parted(found.asked, found.score)),
        },
    }


def cells(name: str, found: Sequence[Line]) -> Iterator[tuple[str, ...]]:
    """A line of a table each."""
    for line in found:
        yield (name, *(f"{value:.3f}" if isinstance(value, float) else str(value) for value in asdict(line).values()))


def bins(name: str, found: Calibrated) -> Iterator[tuple[str, ...]]:
    """A line of the table of reliability each."""
    for one in reliability.table(*curve(found, found.asked)):
        yield (name, f"{one.low:.1f} … {one.high:.1f}", str(one.count), f"{one.predicted:.3f}", f"{one.observed:.3f}")


BINS = ("model", "predicted", "pairs", "mean predicted", "observed")


def _line(found: Calibrated, scope: str, asked: list[Asked]) -> Line:
    cosines, scores = parted(asked, lambda one: one.cosine), parted(asked, found.score)
    coverages = parted(asked, lambda one: float(one.results.features[:, 1].max()))
    predicted, about = curve(found, asked)
    passing = parted(asked, found.passes)
    return Line(
        scope=scope,
        questions=len(cosines[0]),
        probes=len(cosines[1]),
        auc_cosine=separation.auc(*cosines),
        auc_score=separation.auc(*scores),
        auc_coverage=separation.auc(*coverages),
        auc_near=separation.auc(cosines[0], _without(asked)),
        found=float(np.mean(passing[0])),
        false_alarms=float(np.mean(passing[1])),
        own_floor=separation.cut(*cosines),
        likely=float(np.mean(predicted[about] >= EVEN)),
        likely_alarms=float(np.mean(scores[1] >= EVEN)),
        brier=reliability.brier(predicted, about),
    )


def middling(found: Calibrated) -> float:
    """A coverage that says nothing: halfway between the medians of what is about the query and of what is not."""
    features, about = pairs(found.asked)
    return float(np.median(features[about, 1]) + np.median(features[~about, 1])) / 2


def _without(asked: Sequence[Asked]) -> Floats:
    """The best cosines of the queries with an answer, once that is taken away."""
    return np.array([_best_other(one.results) for one in asked if one.answered])


def _best_other(results: Results) -> float:
    return float(results.features[~results.answers, 0].max(initial=-1.0))
