"""bench.memory's promises, and its figures on a model of a megabyte."""

from pathlib import Path
from typing import Any

import pytest

from bench import memory
from oracle import seeded

KEPT: dict[str, Any] = {"resident": 0.7e9, "first_vector": 0.5, "import": 0.1}


@pytest.mark.parametrize(("name", "value"), [("resident", 0.76e9), ("first_vector", 1.1), ("import", 0.21)])
def test_a_broken_promise_is_named(name: str, value: float) -> None:
    assert memory.broken(KEPT) == []
    assert memory.broken({**KEPT, name: value}) == [name]


def test_figures_of_a_real_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "STARTS", 1)
    texts = ["one text", "another one " * 40] * 50
    found = memory.figures(seeded.tiny(tmp_path / "tiny.gguf"), texts, 16)
    assert found["tokens"] > 800
    assert found["tokens"] <= 16 * len(texts)
    assert 10e6 < found["resident"] < 200e6
    assert 0 < found["load"] < found["first_vector"]
    assert "100 sections, cut to 16 tokens" in memory.lines(found)[-1]
