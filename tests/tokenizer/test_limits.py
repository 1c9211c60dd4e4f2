"""Long texts: cut exactly where the whole text's ids are cut, in time that grows with the text and no faster."""

import time
from collections.abc import Callable

import pytest

from bankml._engine import Engine
from oracle.random_texts import random_texts

JAPANESE = (
    "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。"
    "何でも薄暗いじめじめした所で泣いていた事だけは記憶している。"
)
ENGLISH = "It was the best of times, it was the worst of times; we had everything before us, we had nothing before us. "
CASES = {
    "japanese": JAPANESE * 20,
    "english": ENGLISH * 30,
    "aaaa": "a" * 3_000,
    "unknown": "龘𠀀" * 400,
    "thai": "ภาษาไทยเป็นภาษาที่มีระดับเสียงของคำแน่นอนหรือวรรณยุกต์" * 20,
    "random": " ".join(random_texts(100, 1)),
}
SIZE = 20_000_000


@pytest.fixture(params=["wordpiece", "unigram"])
def engine(request: pytest.FixtureRequest) -> Engine:
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize("name", CASES)
def test_every_limit_cuts_the_whole_texts_ids(engine: Engine, name: str) -> None:
    ids, truncated = engine.tokenize(CASES[name])
    assert not truncated
    for limit in range(1, 601):
        expected = ids if len(ids) <= limit else [*ids[: limit - 1], ids[-1]]
        assert engine.tokenize(CASES[name], limit=limit) == (expected, len(ids) > limit), limit


@pytest.mark.parametrize(
    "unit", [ENGLISH, "a", JAPANESE, " ", "é"], ids=["english", "a", "japanese", "space", "accent"]
)
def test_time_is_linear(engine: Engine, unit: str) -> None:
    """Eight times the text may take 24 times as long, not 64 times; measured in CPU time, the best of three."""
    text = unit * (SIZE // 2 // len(unit.encode()))
    small = best(lambda: engine.tokenize(text[: len(text) // 8]))
    assert best(lambda: engine.tokenize(text)) <= 24 * small


@pytest.mark.parametrize("unit", [ENGLISH, JAPANESE], ids=["english", "japanese"])
def test_reading_stops_soon_after_the_limit(engine: Engine, unit: str) -> None:
    long = unit * (SIZE // len(unit.encode()))
    whole = best(lambda: engine.tokenize(long), rounds=1)
    ids, truncated = engine.tokenize(long, limit=512)
    assert truncated
    assert (ids, True) == engine.tokenize(unit * 100, limit=512)
    assert best(lambda: engine.tokenize(long, limit=512)) < whole / 5


def test_twenty_megabytes_without_a_space(unigram: Engine) -> None:
    ids, truncated = unigram.tokenize("a" * SIZE)
    assert not truncated
    assert b"".join(unigram.piece(i) for i in ids[1:-1]) == "▁".encode() + b"a" * SIZE
    assert unigram.tokenize("a" * SIZE, limit=512) == ([*ids[:511], 2], True)


def best(call: Callable[[], object], rounds: int = 3) -> float:
    times = []
    for _ in range(rounds):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return max(min(times), 1e-4)
