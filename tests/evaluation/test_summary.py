"""Scopes, means and differences of what was measured."""

import numpy as np
import pytest

from bankml.evaluation import summary
from bankml.evaluation.measurement import Measured
from bankml.evaluation.methods import CONVEX

NAMES = summary.NAMES


def measured(queries: str, documents: str, value: float, ids: tuple[str, ...] = ("a", "b", "c", "d")) -> Measured:
    """Every metric of every method is `value`."""
    return Measured(queries, documents, ids, np.full((len(ids), len(NAMES), 3), value))


ALL = [measured("en", "en", 1), measured("de", "de", 0.5), measured("en", "de", 0.25), measured("de", "en", 0.125)]
ALL += [measured("de", "fr", 0)]


def test_scopes() -> None:
    found = {name: [summary.name(one) for one in those] for name, those in summary.scopes(ALL).items()}
    assert found == {
        summary.SAME: ["en", "de"],
        summary.FROM: ["en → de"],
        summary.TO: ["de → en"],
        summary.ACROSS: ["en → de", "de → en", "de → fr"],
        **{name: [name] for name in ("en", "de", "en → de", "de → en", "de → fr")},
    }


def test_means() -> None:
    rows = {(row.scope, row.method): row for row in summary.rows(ALL)}
    assert rows[summary.SAME, "words"].values[0].mean == 0.75
    assert rows[summary.ACROSS, "meaning"].values[2].mean == 0.125
    assert rows[summary.SAME, "words"].queries == 8
    assert (summary.SAME, summary.TUNED) in rows
    assert ("de", summary.TUNED) not in rows


def test_only_one_language() -> None:
    assert {row.scope for row in summary.rows(ALL[1:2])} == {summary.SAME, "de"}


def test_a_difference_is_taken_query_by_query() -> None:
    values = np.random.default_rng(0).random((50, len(NAMES), 3))
    values[:, NAMES.index("meaning")] = values[:, NAMES.index("words")] + 0.1
    one = Measured("en", "en", tuple(map(str, range(50))), values)
    found = list(summary.differences([one], [("meaning", "words")]))
    assert [(row.scope, row.method) for row in found] == [(name, "meaning − words") for name in (summary.SAME, "en")]
    for row in found:
        assert [value for each in row.values for value in (each.mean, each.low, each.high)] == pytest.approx([0.1] * 9)


def test_differences_of_a_pair_of_languages_are_not_told_alone() -> None:
    found = {row.scope for row in summary.differences(ALL)}
    assert found == {*summary.SCOPES, "en", "de"}


def test_every_difference_names_two_methods() -> None:
    assert {name for pair in summary.COMPARED for name in pair} <= set(NAMES)


def test_the_weight_is_chosen_on_the_other_half() -> None:
    """α = 0.2 is best for the first and third question, 0.8 for the others: each is judged by the other's choice."""
    values = np.zeros((4, len(NAMES), 3))
    even, odd = NAMES.index(CONVEX[2].name), NAMES.index(CONVEX[8].name)
    values[[0, 2], even] = 1
    values[[1, 3], odd] = 0.5
    values[[0, 2], odd] = 0.25
    assert summary.tuned(values, ["a", "b", "c", "d"])[:, 2].tolist() == [0.25, 0, 0.25, 0]


def test_languages_of_a_question_are_in_one_half() -> None:
    values = np.zeros((4, len(NAMES), 3))
    values[:2, NAMES.index(CONVEX[2].name)] = 1  # question a, in two languages
    assert summary.tuned(values, ["a", "a", "b", "b"]).sum() == 0
