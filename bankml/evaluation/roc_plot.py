"""A calibration as a picture: the ROC of "is there an answer", the best cosines of both kinds, the reliability."""

from collections.abc import Sequence

import numpy as np

from bankml.evaluation import reliability, separation
from bankml.evaluation.calibrating import Calibrated, curve, parted
from bankml.evaluation.logistic import Floats
from bankml.evaluation.svg import Picture, Point

ANSWERED, UNANSWERED, SCORE = "#2f9e6e", "#e3743b", "#3f83f8"
PANEL, HEIGHT, GAP, ROW, HEAD, LEGEND = 300, 170, 46, 250, 40, 24  # pixels
BARS = 40


class _Panel:
    """Axes of values 0 to 1; the first `number`s are to the left."""

    def __init__(self, picture: Picture, number: int, top: float, title: str, below: str) -> None:
        self._left, self._top = GAP + number * (PANEL + GAP), top
        picture.words((self._left, top - 12), title, size=12)
        for tick in (0, 0.25, 0.5, 0.75, 1):
            picture.line([self.at(0, tick), self.at(1, tick)], width=0.3)
            x, y = self.at(0, tick)
            picture.words((x - 4, y + 4), f"{tick:g}", "end", size=9)
        x, y = self.at(0.5, 0)
        picture.words((x, y + 27), below, "middle", size=9)

    def at(self, x: float, y: float) -> Point:
        return self._left + x * PANEL, self._top + (1 - y) * HEIGHT


def drawn(models: Sequence[Calibrated]) -> str:
    """The SVG file: a row of panels a model."""
    picture = Picture(3 * (PANEL + GAP) + 10, LEGEND + ROW * len(models))
    legend = ((ANSWERED, "with an answer, by cosine"), (UNANSWERED, "without one"), (SCORE, "by score"))
    for number, (colour, words) in enumerate(legend):
        picture.dot((GAP + 5 + 190 * number, 14), colour, 4)
        picture.words((GAP + 14 + 190 * number, 18), words, colour=colour)
    for number, found in enumerate(models):
        _row(picture, found, LEGEND + ROW * number + HEAD)
    return str(picture)


def _row(picture: Picture, found: Calibrated, top: float) -> None:
    name, judged = found.model.encoder.name, found.asked
    by_cosine, by_score = parted(judged, lambda one: one.cosine), parted(judged, found.score)
    areas = f"AUC {separation.auc(*by_cosine):.3f}, score {separation.auc(*by_score):.3f}"
    panel = _Panel(picture, 0, top, f"{name}: {areas}", "false alarms → (found ↑)")
    _ticks(picture, panel, 0, 1)
    for kinds, colour in ((by_cosine, ANSWERED), (by_score, SCORE)):
        picture.line([panel.at(*point) for point in separation.roc(*kinds)], colour, 1.8)
    _kinds(picture, found, top, *by_cosine)
    panel = _Panel(picture, 2, top, f"{name}: is a probability true?", "predicted → (observed ↑)")
    _ticks(picture, panel, 0, 1)
    picture.line([panel.at(0, 0), panel.at(1, 1)], dashes="4 4", width=1)
    bins = reliability.table(*curve(found, judged))
    picture.line([panel.at(one.predicted, one.observed) for one in bins], SCORE, 1)
    for one in bins:
        picture.dot(panel.at(one.predicted, one.observed), SCORE, 2 + np.log10(one.count))


def _kinds(picture: Picture, found: Calibrated, top: float, answered: Floats, unanswered: Floats) -> None:
    """How many queries of each kind have which best cosine, over the largest of these numbers."""
    both = np.concatenate([answered, unanswered])
    low, high = np.floor(both.min() * 20) / 20, np.ceil(both.max() * 20) / 20
    panel = _Panel(picture, 1, top, f"{found.model.encoder.name}: best cosines, and the floor", "cosine →")
    _ticks(picture, panel, low, high)
    shares = [np.histogram(values, BARS, (low, high))[0] / len(values) for values in (answered, unanswered)]
    most = max(float(each.max()) for each in shares)
    for each, colour in zip(shares, (ANSWERED, UNANSWERED), strict=True):
        steps = [(place / BARS, share / most) for start, share in enumerate(each) for place in (start, start + 1)]
        picture.area([panel.at(0, 0), *(panel.at(*step) for step in steps), panel.at(1, 0)], colour)
        picture.line([panel.at(*step) for step in steps], colour, 1.2)
    floor = (found.calibration.floor - low) / (high - low)
    picture.line([panel.at(floor, 0), panel.at(floor, 1)], dashes="4 4")


def _ticks(picture: Picture, panel: _Panel, low: float, high: float) -> None:
    for tick in (0, 0.25, 0.5, 0.75, 1):
        x, y = panel.at(tick, 0)
        picture.words((x, y + 13), f"{low + tick * (high - low):.2f}", "middle", size=9)
