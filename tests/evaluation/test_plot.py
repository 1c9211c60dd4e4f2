"""The picture: well-formed, the same each time, with a mark for what it shows."""

from xml.etree import ElementTree

import numpy as np

from bankml.evaluation import plot, summary, svg
from bankml.evaluation.measurement import Measured

SVG = "{http://www.w3.org/2000/svg}"


def rows() -> list[summary.Row]:
    values = np.random.default_rng(3).random((20, len(summary.NAMES), 3))
    ids = tuple(map(str, range(20)))
    return list(summary.rows([Measured("en", "en", ids, values), Measured("zh-cn", "en", ids, values / 2)]))


def test_a_picture_of_two_models() -> None:
    drawn = plot.drawn([("a model", rows()), ("<another> & more", rows())])
    assert drawn == plot.drawn([("a model", rows()), ("<another> & more", rows())])
    root = ElementTree.fromstring(drawn)
    words = [element.text for element in root.iter(f"{SVG}text")]
    assert "<another> & more: same language, nDCG@10" in words
    assert set(summary.CHIEF) <= set(words)
    curves = [line for line in root.iter(f"{SVG}polyline") if line.get("stroke-width") == "2"]
    assert len(curves) == 4  # two scopes of two models
    assert all(len((line.get("points") or "").split()) == 11 for line in curves)


def test_all_of_it_is_within_the_picture() -> None:
    root = ElementTree.fromstring(plot.drawn([("a model", rows())]))
    _, _, width, height = map(float, root.get("viewBox", "").split())
    for line in root.iter(f"{SVG}polyline"):
        points = [tuple(map(float, point.split(","))) for point in (line.get("points") or "").split()]
        assert all(0 <= x <= width and 0 <= y <= height for x, y in points)


def test_values_are_where_they_belong() -> None:
    panel = plot._Panel(10, 20, 100, 50)
    assert panel.at(0, 0) == (10, 70)
    assert panel.at(1, 1) == (110, 20)


def test_words_are_no_markup() -> None:
    picture = svg.Picture(10, 10)
    picture.words((0, 0), '<script x="y">&')
    assert ElementTree.fromstring(str(picture))[0].text == '<script x="y">&'
