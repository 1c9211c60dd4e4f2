"""How texts are split into a peer's passes."""

import time
from pathlib import Path

import pytest

from bankml import Encoder
from bench.engines import COLD, Split, UnsuitableError, _equal, _fastest, _passes, _whole

TEXTS = [[1] * 5, [2] * 5, [3] * 3, [4] * 20]


def test_a_pass_holds_what_fits_and_at_least_one_text() -> None:
    assert _passes(TEXTS, 1) == [[text] for text in TEXTS]
    assert [len(texts) for texts in _passes(TEXTS, 10)] == [2, 1, 1]
    assert [len(texts) for texts in _passes(TEXTS, 13)] == [3, 1]
    assert _passes(TEXTS, 1 << 20) == [TEXTS]


def test_onnx_runtimes_calls_hold_texts_of_one_length() -> None:
    assert [[len(ids) for ids in call] for call in _equal(TEXTS, 1 << 20)] == [[3], [5, 5], [20]]
    assert _equal([[1] * 3, [1] * 9, [2] * 3], 1 << 20)[-1] == [[1] * 3, [2] * 3]  # the last text is the last vector


class Slow:
    """An engine that takes a millisecond a text of a pass, and remembers what it was set up for."""

    def __init__(self, slow: int) -> None:
        self.slow, self.ran, self.split = slow, 0, Split()

    def set_up(self, split: Split) -> None:
        self.split = split

    def run(self) -> None:
        self.ran += 1
        until = time.perf_counter() + (0.02 if len(self.split[0]) == self.slow else 0.001)
        while time.perf_counter() < until:
            pass


@pytest.mark.parametrize(("slow", "words", "most"), [(1, "4 texts", 4), (4, "1 text", 1)])
def test_the_fastest_split_is_left_set_up(slow: int, words: str, most: int) -> None:
    engine = Slow(slow)
    splits = [_passes(TEXTS, 1), _passes(TEXTS, 1), _passes(TEXTS, 1 << 20)]
    assert _fastest(splits, engine.set_up, engine.run) == words
    assert len(engine.split[0]) == most


def test_one_split_is_warmed_up_unless_it_takes_minutes() -> None:
    engine = Slow(0)
    assert _fastest([[[[1] * COLD]]], engine.set_up, engine.run) == "1 text"
    assert engine.ran == 2
    _fastest([[[[1] * (COLD + 1)]]], engine.set_up, engine.run)
    assert engine.ran == 2


def test_ids_are_written_as_the_text_whose_tokens_they_are(e5: Path) -> None:
    with Encoder(e5) as encoder:
        ids = encoder.tokenize("query: hello world")
    assert _whole(str(e5), [ids]) == ["query: hello world"]
    with pytest.raises(UnsuitableError, match="no text's tokens"):
        _whole(str(e5), [[0, ids[1], ids[2], 2, 2, 2]])
