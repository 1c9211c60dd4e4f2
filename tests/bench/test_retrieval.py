"""The page of calibrations: what is told of a run, and of an aim that is missed."""

from bankml.evaluation import calibrated
from bankml.memory import calibration
from bench import retrieval

LINE = dict.fromkeys(calibrated.Line.__annotations__, 0.99) | {"scope": "all", "questions": 61, "probes": 32}


def run(auc: float) -> dict:
    one = {
        "model": "m",
        "digest": "0" * 64,
        "calibration": calibration.Calibration("m", "0" * 64, 0.3, -7.5, 7.25, 2.0).entry,
        "ridge": 0.3,
        "coverage": 0.224,
        "score_at_floor": 0.47,
        "figures": [LINE | {"auc_cosine": auc}],
        "reliability": [{"low": 0.0, "high": 0.1, "count": 1518, "predicted": 0.02, "observed": 0.024}],
    }
    return {"datetime": "2026-11-30T12:00:00", "machine": "M", "calibrations": [one]}


def test_the_tables() -> None:
    told = retrieval.report(run(0.98))
    assert "floor **0.300**; score = logistic(-7.500 + 7.250 · cosine + 2.000 · coverage), ridge 0.3; " in told
    assert "at the floor and a middling coverage, 0.22, **0.47**" in told
    assert "AUC 0.980, 0.95 was the aim" in told
    assert "| 0.0 … 0.1 | 1,518 | 0.020 | 0.024 |" in told
    assert "| all | 61 | 32 | 0.980 | 0.990 |" in told


def test_an_aim_that_is_missed_is_told_by_how_much() -> None:
    assert "**AUC 0.910 misses the aim, 0.95, by 0.040**" in retrieval.report(run(0.91))
    assert retrieval.least(run(0.91)["calibrations"][0]) == 0.91
