"""The evaluation as a picture: nDCG over the weight of meaning, and each language's, one row of panels a model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bankml.evaluation.bootstrap import Interval
from bankml.evaluation.faq import LANGUAGES
from bankml.evaluation.measurement import METRICS
from bankml.evaluation.methods import ALPHAS, MEANING, RRF_2, RRF_60, WORDS, convex
from bankml.evaluation.summary import ACROSS, CHIEF, SAME, STRONG, Row
from bankml.evaluation.svg import Picture, Point

COLOURS = dict(zip(CHIEF, ("#3f83f8", "#27a6b8", "#e3743b", "#2f9e6e", "#9d6fe0", "#c79a1e"), strict=True))
NDCG = len(METRICS) - 1
PANEL, GAP, ROW = 300, 40, 230  # pixels: a panel's width, what is left of it, a model's height
HEAD, FOOT = 44, 30  # above and below the axes of a row
LEGEND = 24


@dataclass(frozen=True)
class _Panel:
    """Axes of a width and height at a place; values 0 to 1 from the bottom to the top."""

    left: float
    top: float
    width: float = PANEL
    height: float = ROW - HEAD - FOOT

    def at(self, x: float, y: float) -> Point:
        return self.left + x * self.width, self.top + (1 - y) * self.height


def drawn(models: Sequence[tuple[str, Sequence[Row]]]) -> str:
    """The SVG file of each model's name and rows."""
    picture = Picture(3 * (PANEL + GAP) + 10, LEGEND + ROW * len(models))
    _legend(picture)
    for number, (name, rows) in enumerate(models):
        found = {(row.scope, row.method): row.values[NDCG] for row in rows}
        top = LEGEND + ROW * number + HEAD
        for column, scope in enumerate((SAME, ACROSS)):
            if (scope, STRONG) in found:
                _curve(picture, _axes(picture, column, top, f"{name}: {scope}"), found, scope)
        languages = [row.scope for row in rows if row.method == STRONG and row.scope in LANGUAGES]
        _dots(picture, _axes(picture, 2, top, f"{name}: each language"), found, languages)
    return str(picture)


def _legend(picture: Picture) -> None:
    for number, (method, colour) in enumerate(COLOURS.items()):
        picture.dot((GAP + 5 + 120 * number, 14), colour, 4)
        picture.words((GAP + 14 + 120 * number, 18), method, colour=colour)


def _axes(picture: Picture, column: int, top: float, title: str) -> _Panel:
    panel = _Panel(GAP + column * (PANEL + GAP), top)
    picture.words((panel.left, top - 12), f"{title}, {METRICS[NDCG]}", size=12)
    for tick in (0, 0.25, 0.5, 0.75, 1):
        picture.line([panel.at(0, tick), panel.at(1, tick)], width=0.3)
        x, y = panel.at(0, tick)
        picture.words((x - 4, y + 4), f"{tick:g}", "end", size=9)
    return panel


def _curve(picture: Picture, panel: _Panel, found: Mapping[tuple[str, str], Interval], scope: str) -> None:
    """nDCG over α with its interval; the methods without an α as lines across."""
    colour = COLOURS[STRONG]
    points = [(alpha, found[scope, convex(alpha).name]) for alpha in ALPHAS]
    low = [panel.at(alpha, one.low) for alpha, one in points]
    high = [panel.at(alpha, one.high) for alpha, one in points]
    picture.area([*low, *reversed(high)], colour)
    for method in (WORDS, MEANING, RRF_60, RRF_2):
        mean = found[scope, method.name].mean
        picture.line([panel.at(0, mean), panel.at(1, mean)], COLOURS[method.name], 1.2, "5 3")
    picture.line([panel.at(alpha, one.mean) for alpha, one in points], colour, 2)
    for alpha in ALPHAS[::2]:
        x, y = panel.at(alpha, 0)
        picture.words((x, y + 13), f"{alpha:g}", "middle", size=9)
    x, y = panel.at(0.5, 0)
    picture.words((x, y + 25), "convex: α, the weight of meaning", "middle", size=9)


def _dots(picture: Picture, panel: _Panel, found: Mapping[tuple[str, str], Interval], languages: Sequence[str]) -> None:
    """Each method's mean and interval in each language."""
    for place, language in enumerate(languages):
        x = (place + 0.5) / len(languages)
        picture.words(panel.at(x, -0.09), language, "middle", size=9)
        for number, (method, colour) in enumerate(COLOURS.items()):
            shifted = x + (number - 2.5) * 0.15 / len(languages)
            one = found[language, method]
            picture.line([panel.at(shifted, one.low), panel.at(shifted, one.high)], colour, 1)
            picture.dot(panel.at(shifted, one.mean), colour, 2.2)
