import base64
import json
from pathlib import Path
from typing import Any

import pytest

from bankml._engine import GGUF
from bankml.errors import ModelError
from bankml.models.xlm_roberta import read_unigram

VOCABULARY = [["<s>", 0.0], ["<pad>", 0.0], ["</s>", 0.0], ["<unk>", 0.0], ["▁a", -3.5], ["b", -4.25], ["<mask>", 0.0]]
CHARSMAP = b"\x04\x00\x00\x00abcdz\x00"


def content(**values: Any) -> dict[str, Any]:
    steps = [{"type": "Precompiled", "precompiled_charsmap": base64.b64encode(CHARSMAP).decode()}, {"type": "Replace"}]
    return {"model": {"type": "Unigram", "vocab": VOCABULARY}, "normalizer": {"normalizers": steps}, **values}


def written(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value))
    return path


def test_the_vocabulary_is_padded_to_the_rows(tmp_path: Path) -> None:
    unigram = read_unigram(written(tmp_path / "tokenizer.json", content()), rows=9)
    assert unigram.pieces == [piece for piece, _ in VOCABULARY] + ["[PAD7]", "[PAD8]"]
    assert unigram.scores == [0, 0, 0, 0, -3.5, -4.25, 0, -10_000, -10_000]
    assert unigram.types == [3, 3, 3, 2, 1, 1, 3, 5, 5]
    assert unigram.charsmap == CHARSMAP


def test_the_real_file_has_the_keys_of_bge_m3(e5: Path) -> None:
    metadata = GGUF(str(e5)).metadata
    ids = {"bos": 0, "eos": 2, "unknown": 3, "seperator": 2, "padding": 1, "cls": 0, "mask": 250_001}
    assert {role: metadata[f"tokenizer.ggml.{role}_token_id"] for role in ids} == ids
    assert metadata["tokenizer.ggml.model"] == "t5"
    for flag in ("add_space_prefix", "remove_extra_whitespaces", "add_bos_token", "add_eos_token"):
        assert metadata[f"tokenizer.ggml.{flag}"] is True
    assert {"tokens", "scores", "token_type", "precompiled_charsmap"} <= {key.split(".")[-1] for key in metadata}


@pytest.mark.parametrize(
    ("value", "rows", "words"),
    [
        (content(model={"vocab": VOCABULARY[1:]}), 9, r"lacks \['<s>'\]"),
        (content(model={"vocab": [*VOCABULARY, ["b", 0.0]]}), 9, "7 different pieces of 8"),
        (content(), 6, "the weights 6 rows"),
        (content(model={"vocab": [["a"]]}), 9, "not a Unigram vocabulary"),
        (content(model={"vocab": None}), 9, "not a Unigram vocabulary"),
        (content(model=[]), 9, "not a Unigram vocabulary"),
        (content(normalizer=None), 9, "not a Unigram vocabulary"),
        (content(normalizer={"normalizers": []}), 9, "not a Unigram vocabulary"),
        (content(normalizer={"type": "Precompiled", "precompiled_charsmap": "a"}), 9, "not a Unigram vocabulary"),
        ([], 9, "not a Unigram vocabulary"),
    ],
)
def test_another_file_is_refused(tmp_path: Path, value: Any, rows: int, words: str) -> None:
    with pytest.raises(ModelError, match=words):
        read_unigram(written(tmp_path / "tokenizer.json", value), rows)


def test_an_absent_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="none"):
        read_unigram(tmp_path / "none", 9)
