"""What libraries find of the FAQ is judged as the evaluation judges."""

from pathlib import Path

import numpy as np
import pytest

from bankml.evaluation.faq import Language
from bench import quality

FAQ = Language("en", {"a": "An apple a day.", "b": "The harbour at night."}, {"b": "Where do ships sleep?"}, 0, 0)


class Rows:
    """Vectors of the FAQ above."""

    def documents(self, texts: list[str]) -> np.ndarray:
        return np.eye(384, dtype=np.float32)[: len(texts)]

    def queries(self, texts: list[str]) -> np.ndarray:
        return np.eye(384, dtype=np.float32)[[1] * len(texts)]


def test_a_language_is_judged(stocked_home, tmp_path: Path) -> None:
    line = quality.of(FAQ, "all-minilm-l6-v2", Rows(), tmp_path / "python")
    assert (line["texts"], line["questions"], len(line["missing"])) == (2, 1, 3)
    assert line["libraries"]["bankml"] == {
        "words": {"ndcg": 0, "recall": 0},
        "meaning": {"ndcg": 1, "recall": 1},
        "fused": {"ndcg": 1, "recall": 1},
    }


def test_the_rank_of_the_answer_counts() -> None:
    assert quality.judge([[5, 1], [1, 5], [2, 3]], [5, 5, 5]) == {
        "ndcg": pytest.approx((1 + 1 / np.log2(3)) / 3),
        "recall": pytest.approx(2 / 3),
    }


def test_the_mean_of_the_languages() -> None:
    lines = [
        {"model": "m", "language": code, "questions": 100, "libraries": {"bankml": {"fused": {"ndcg": ndcg}}}}
        for code, ndcg in (("en", 0.5), ("de", 0.7))
    ]
    assert quality.mean(lines, "bankml", "words") is None
    assert quality.table(lines).splitlines()[2:] == ["| m | en, de | 200 | bankml | - | - | 0.600 |"]
