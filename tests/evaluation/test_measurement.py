"""Metrics of a small collection, worked by hand."""

import numpy as np

from bankml.evaluation import measurement
from bankml.evaluation.collection import Collection, Queries
from bankml.evaluation.methods import MEANING, WORDS

COLLECTION = Collection("en", ["a", "b", "c"], ["red apples", "blue sky and red roof", "green grass"])
QUERIES = Queries("en", ["b", "missing", "c"], ["red roof", "what is not there", "sky"])
MATRIX = np.eye(3, dtype=np.float32)


def test_words_and_meaning() -> None:
    words = [COLLECTION.words(text) for text in QUERIES.texts]
    assert [ids for ids, _ in words] == [[1, 0], [], [1]]
    meaning = [COLLECTION.meaning(vector, MATRIX) for vector in np.float32([[0.6, 0.8, 0], [1, 0, 0], [0.8, 0.6, 0]])]
    assert [ids for ids, _ in meaning] == [[1, 0, 2], [0, 1, 2], [0, 1, 2]]
    found = measurement.measure(QUERIES, COLLECTION, words, meaning, (WORDS, MEANING))
    assert found.ids == ("b", "c")  # of the other one there is no document
    assert found.values.shape == (2, 2, 3)
    assert found.values[0].tolist() == [[1, 1, 1], [1, 1, 1]]
    assert found.values[1, 0].tolist() == [0, 0, 0]
    assert found.values[1, 1].tolist() == [1, 1 / 3, 0.5]
