"""What is fitted and by whom each query is judged, on queries whose results are made up."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from bankml.encoder import Encoder
from bankml.errors import InputError
from bankml.evaluation import calibrated, roc_plot
from bankml.evaluation.calibrating import Asked, Calibrated, calibrate, curve, fitted, judges
from bankml.evaluation.faq import Language
from bankml.evaluation.model import Model
from bankml.evaluation.shelf import Results
from bankml.memory.calibration import Calibration
from bankml.models.progress import silent
from oracle import seeded


def asked(number: int, cosines: list[float], answer: int | None, language: str = "en") -> Asked:
    features = np.column_stack([cosines, np.full(len(cosines), 0.5)])
    own = np.arange(len(cosines)) == answer
    return Asked(language, answer is not None, number, Results(features, own, features, own))


SOME = [
    *(asked(number, [0.6 + number / 100, 0.4], 0) for number in range(8)),
    *(asked(number, [0.2 + number / 100, 0.1], None) for number in range(6)),
]


def found(some: list[Asked]) -> Calibrated:
    encoder = SimpleNamespace(name="m", digest="0" * 64, dims=3)
    model = SimpleNamespace(encoder=encoder, prefixes=SimpleNamespace(query="", document=""))
    return Calibrated(model, fitted("m", "0" * 64, some), judges("m", "0" * 64, some), some)


def test_the_floor_is_between_both_kinds_and_the_curve_grows() -> None:
    one = fitted("m", "0" * 64, SOME)
    assert one.floor == pytest.approx((0.25 + 0.6) / 2)
    assert one.score(0.65, 0.5) > 0.5 > one.score(0.4, 0.5)


def test_the_curve_is_of_the_pairs_at_even_odds() -> None:
    """Whatever is shown: halfway between few that are about the query and many that are not is an even chance."""

    def one(number: int, answered: bool, cosine: float) -> Asked:
        shown = np.array([[0.99, 0.9], [0.01, 0.9]])
        results = Results(shown, np.array([False, False]), np.array([[cosine, 0.5]]), np.array([answered]))
        return Asked("en", answered, number, results)

    some = [one(number, True, 0.6) for number in range(4)] + [one(number, False, 0.2) for number in range(40)]
    assert fitted("m", "0" * 64, some).score(0.4, 0.5) == pytest.approx(0.5, abs=1e-3)


def test_nobody_is_judged_by_what_has_seen_it() -> None:
    """Half of the questions say the opposite: who is judged by the others is judged wrongly, every one."""
    told = [asked(number, [0.9, 0.1], number % 2) for number in range(20)]
    told += [asked(number, [0.05], None) for number in range(4)]
    judged = found(told)
    predicted, came = curve(judged, told)
    assert np.mean(predicted[came]) < 0.3
    assert np.mean(predicted[~came]) > 0.4


def test_figures() -> None:
    (line,) = calibrated.lines(found(SOME))
    assert (line.scope, line.questions, line.probes) == ("all", 8, 6)
    assert (line.auc_cosine, line.auc_score, line.found, line.false_alarms) == (1, 1, 1, 0)
    assert line.auc_near == 1  # without its answer each has 0.4
    assert (line.likely, line.likely_alarms) == (1, 0)
    assert line.brier < 0.25


def test_a_language_whose_probes_pass_is_told() -> None:
    foreign = [
        *(asked(number, [0.7], 0, "de") for number in range(8)),
        *(asked(number, [0.65], None, "de") for number in range(6)),
    ]
    by_scope = {line.scope: line for line in calibrated.lines(found(SOME + foreign))}
    assert by_scope["en"].found < 1 or by_scope["de"].false_alarms > 0
    assert by_scope["de"].own_floor == pytest.approx(0.675)


def test_the_picture_is_the_same_twice() -> None:
    first = roc_plot.drawn([found(SOME)])
    assert first == roc_plot.drawn([found(SOME)])
    assert "AUC 1.000, score 1.000" in first
    assert "nan" not in first


def test_too_little_to_fit_on(tmp_path: Path) -> None:
    model = Model(Encoder(seeded.tiny(tmp_path / "tiny.gguf")), tmp_path, silent)
    with pytest.raises(InputError, match="are all alike"):
        calibrate(model, [Language("en", {"a": "text"}, {}, 0, 0)], silent)
    with pytest.raises(InputError, match="no language"):
        calibrate(model, [], silent)


def test_what_is_written_is_rounded() -> None:
    one = fitted("m", "0" * 64, SOME)
    assert Calibration.of(one.entry) == one
    assert all(round(value, 6) == value for value in (one.floor, one.intercept, one.by_cosine, one.by_coverage))
