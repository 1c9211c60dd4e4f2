"""`python -m bench.retrieval`: whether a query has an answer, told by cosine and by score; floors and curves.

What `bankml eval --calibrate` does with the built-in models, kept with date and machine, the picture in docs/plots;
`python -m bench.page FILE` puts the tables into docs/retrieval.md. A quarter of an hour on two cores, a minute once the
vectors are kept. `--ship` puts what was fitted into the package. Exit status 1 when the aim is missed.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from bankml import models
from bankml.cli.progress import counted
from bankml.encoder import chosen
from bankml.evaluation import calibrated, roc_plot
from bankml.evaluation.calibrating import Calibrated, calibrate
from bankml.evaluation.model import Model
from bankml.memory import calibration
from bankml.memory.calibration import Calibration
from bankml.models.progress import Progress
from bench import results
from bench.found import MODELS
from bench.quality import languages
from bench.report import markdown
from oracle import cache

PICTURE = results.ROOT / "docs" / "plots" / "retrieval.svg"
SHIPPED = results.ROOT / "bankml" / "memory" / calibration.NAME
HEAD = {
    "scope": "queries → texts",
    "questions": "questions",
    "probes": "probes",
    "auc_cosine": "AUC, cosine",
    "auc_score": "AUC, score",
    "auc_coverage": "AUC, coverage",
    "found": "answers at the floor",
    "false_alarms": "probes at the floor",
    "own_floor": "its own floor",
    "auc_near": "AUC, answer taken away",
    "likely": "answers ≥ 0.5",
    "likely_alarms": "probes ≥ 0.5",
    "brier": "Brier",
}


def measured(progress: Progress) -> Iterator[Calibrated]:
    """Of each built-in model that can be had here, on the languages it knows."""
    for name, codes in MODELS.items():
        with chosen(models.choose(name)) as encoder:
            yield calibrate(Model(encoder, cache.folder(), progress), languages(codes), progress)


def report(run: dict[str, Any]) -> str:
    """The tables of a run."""
    parts = [f"`python -m bench.retrieval`, {run['datetime'][:10]}, {run['machine']}."]
    parts += ["![ROC, cosines and reliability](plots/retrieval.svg)"]
    for one in run["calibrations"]:
        fitted = one["calibration"]
        weights = [f"{fitted[name]:.3f}" for name in ("intercept", "by_cosine", "by_coverage")]
        parts += [
            f"**{one['model']}** (sha256 {one['digest'][:12]}…): floor **{fitted['floor']:.3f}**; score = logistic("
            f"{weights[0]} + {weights[1]} · cosine + {weights[2]} · coverage), ridge {one['ridge']:g}; at the floor "
            f"and a middling coverage, {one['coverage']:.2f}, **{one['score_at_floor']:.2f}**; {_verdict(one)}.",
            markdown([*HEAD.values()], [[_cell(line[name]) for name in HEAD] for line in one["figures"]]),
            markdown(
                ["predicted", "pairs", "mean predicted", "observed"],
                [[f"{b['low']:.1f} … {b['high']:.1f}", f"{b['count']:,}", _cell(b["predicted"]), _cell(b["observed"])]
                 for b in one["reliability"]],
            ),
        ]  # fmt: skip
    return "\n\n".join(parts)


def least(one: dict[str, Any]) -> float:
    """The smaller AUC of all its languages together, by cosine and by score."""
    whole = next(line for line in one["figures"] if line["scope"] == calibrated.EVERY)
    return float(min(whole["auc_cosine"], whole["auc_score"]))


def _verdict(one: dict[str, Any]) -> str:
    found = least(one)
    if found >= calibrated.AIM:
        return f"AUC {found:.3f}, {calibrated.AIM} was the aim"
    return f"**AUC {found:.3f} misses the aim, {calibrated.AIM}, by {calibrated.AIM - found:.3f}**"


def _cell(value: float | int | str) -> str:
    return f"{value:.3f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else value


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.retrieval", description=__doc__)
    parser.add_argument("--ship", action="store_true", help="put what was fitted into the package")
    options = parser.parse_args(arguments)
    with counted() as progress:
        found = list(measured(progress))
    PICTURE.write_text(roc_plot.drawn(found), encoding="utf-8")
    file, run = results.keep("calibration", {"calibrations": [calibrated.data(one) for one in found]})
    if options.ship:
        fitted: dict[str, Calibration] = {one.calibration.digest: one.calibration for one in found}
        SHIPPED.write_bytes(calibration.written(fitted))
    print(f"{report(run)}\n\n{file}")
    return 1 if any(least(one) < calibrated.AIM for one in run["calibrations"]) else 0


if __name__ == "__main__":
    sys.exit(main())
