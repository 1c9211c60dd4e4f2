"""Passages of any number are seeded, and no two are alike."""

from itertools import islice

from bench.passages import DENSE_LENGTH, DOCUMENT, passages, questions


def test_they_are_the_same_in_every_run_and_each_is_another() -> None:
    first, again = (list(passages(["en", "ja"], 2 * DOCUMENT)) for _ in range(2))
    assert first == again
    assert len(set(first)) == 2 * DOCUMENT
    assert first[:3] == list(islice(passages(["en", "ja"], 10**9), 3))
    assert max(map(len, first[DOCUMENT:])) < 3 * DENSE_LENGTH


def test_questions_ask() -> None:
    found = questions(["en", "ja"])
    assert found == questions(["en", "ja"])
    assert all(text[-1] in "?\uff1f" for text in found)
