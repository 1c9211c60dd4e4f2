"""The tables of tokenizing, the comparison of ids before it, and the share that it may have of embedding."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from bankml.encoder import Encoder
from bench import cases, page, tokenizers

SECONDS = {"bankml": 1e-3, "tokenizers": 20e-3, "sentencepiece": 1.5e-3}
SPEED = {"model": "m", "texts": "English", "count": 4, "bytes": 20_000, "tokens": 5_000}
RUN = {"datetime": "2026-11-30T00:00:00", "machine": "m", "load": [0.5, 0, 0], "versions": {"numpy": "2"}}


def share(tokenize: float, encode: float, model: str = cases.MINILM.name) -> dict[str, Any]:
    seconds = {"tokenize": {"min": tokenize}, "encode": {"min": encode}}
    return {"model": model, "case": "1 x 12", "tokens": 12, "seconds": seconds}


def vocabulary(path: Path, ids: Sequence[int], name: str = "tokenizers", as_good: bool | None = None) -> Any:
    peer = tokenizers.Tokenizer(str.split, lambda text: ids)
    rule = None if as_good is None else lambda ours, theirs: as_good
    return tokenizers.Vocabulary(cases.MINILM, Encoder(path, threads=1), {name: peer}, rule)


def test_a_run_is_two_tables() -> None:
    seconds = {name: {"min": value} for name, value in SECONDS.items()}
    speed = {**SPEED, "differences": {"tokenizers": 0, "sentencepiece": 1}, "seconds": seconds}
    part, text = page.block({**RUN, "speeds": [speed], "shares": [share(2e-6, 1e-3)]})
    assert part == "tokenizers"
    peers = "**20.0** (1.0) | **1.5** (13.3; other ids for 1 of 4)"
    assert f"| m | English | 0.02 | 20.0 | 200 | {peers} |" in text
    assert f"| {cases.MINILM.name} | 1 x 12 | 2.0 µs | 167 | 1.0 ms | 0.20% |" in text


def test_more_than_promised_is_told_for_minilm() -> None:
    assert tokenizers.too_much([share(19e-6, 1e-3), share(30e-6, 1e-3, "another")]) == []
    assert tokenizers.too_much([share(21e-6, 1e-3)]) == ["1 x 12"]


def test_a_faster_peer_is_told() -> None:
    seconds = {name: {"min": value} for name, value in SECONDS.items()}
    assert tokenizers.slower([{**SPEED, "seconds": seconds}]) == []
    seconds["sentencepiece"]["min"] = 0.9e-3
    assert tokenizers.slower([{**SPEED, "seconds": seconds}]) == ["English (m)"]


def test_other_ids_fail_the_run_unless_they_are_as_good(minilm: Path) -> None:
    with Encoder(minilm, threads=1) as encoder:
        same = encoder.tokenize("hello")
    assert tokenizers.differences(vocabulary(minilm, same), ["hello"]) == {"tokenizers": 0}
    with pytest.raises(RuntimeError, match="better ids for 1 of 1"):
        tokenizers.differences(vocabulary(minilm, [1]), ["hello"])
    with pytest.raises(RuntimeError, match="sentencepiece gives better ids"):
        tokenizers.differences(vocabulary(minilm, [1], "sentencepiece", False), ["hello"])
    assert tokenizers.differences(vocabulary(minilm, [1], "sentencepiece", True), ["hello"]) == {"sentencepiece": 1}
    assert tokenizers.differences(vocabulary(minilm, [1], "tokenizers", False), ["hello"]) == {"tokenizers": 1}


def test_calls_take_turns() -> None:
    order: list[str] = []

    def call(name: str) -> None:
        order.append(name)
        sum(range(400_000))

    found = tokenizers.turns({name: lambda name=name: call(name) for name in "ab"}, 2)
    changes = [name for i, name in enumerate(order) if i == 0 or order[i - 1] != name]
    assert changes == ["a", "b", "a", "b"]
    assert all(0 < seconds["min"] <= seconds["median"] for seconds in found.values())
