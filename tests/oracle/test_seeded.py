"""Seeded models: the same bytes from the same seed, and vectors that tell texts apart."""

from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from gguf import GGMLQuantizationType
from gguf.quants import dequantize

from bankml._engine import GGUF, Engine
from oracle import blocks, seeded, vectors, vocabularies

DIGEST = "e1fe503ad696d80b773153f49491f9a0169c610db07ea9e75d6b04a0e8a1c72b"


def test_same_seed_same_bytes(tmp_path: Path) -> None:
    first, second, other = (
        sha256(seeded.tiny(tmp_path / f"{at}.gguf", seed=seed).read_bytes()).hexdigest()
        for at, seed in enumerate((0, 0, 1))
    )
    assert first == second != other


def test_the_weights_do_not_depend_on_the_version_of_numpy() -> None:
    values = seeded.bell(1_000, "blk.0.attn_q.weight", 0)
    assert sha256(values.tobytes()).hexdigest() == DIGEST


def test_weights_have_the_deviation_they_were_asked_for() -> None:
    values = seeded.bell(2_000_000, "x", 0).astype(np.float64)
    assert abs(values.mean()) < 0.003
    assert abs(values.std() - 1) < 0.002
    assert abs(np.corrcoef(values[1:], values[:-1])[0, 1]) < 0.003


@pytest.mark.parametrize("dtype", get_args(seeded.DType))
def test_matrices_have_the_type_and_everything_else_is_f32(tmp_path: Path, dtype: seeded.DType) -> None:
    file = GGUF(seeded.tiny(tmp_path / "m.gguf", dtype=dtype, hidden=256, ffn=256))
    types = {tensor["name"]: tensor["type"] for tensor in file.tensors}
    matrices = {name for name in types if name.startswith("blk") and name.endswith("weight") and "norm" not in name}
    assert {types[name] for name in {*matrices, "token_embd.weight"}} == {dtype}
    assert {types[name] for name in types.keys() - matrices - {"token_embd.weight"}} == {"F32"}


def test_some_matrices_may_have_another_type(tmp_path: Path) -> None:
    types: dict[str, seeded.DType] = {"token_embd": "Q8_0", "ffn_down": "F32", "blk.1.attn_v": "Q5_1"}
    file = GGUF(seeded.tiny(tmp_path / "m.gguf", dtype="Q4_0", types=types))
    found = {tensor["name"].removesuffix(".weight"): tensor["type"] for tensor in file.tensors}
    assert found["token_embd"] == "Q8_0"
    assert [found[f"blk.{i}.ffn_down"] for i in (0, 1)] == ["F32", "F32"]
    assert [found[f"blk.{i}.attn_v"] for i in (0, 1)] == ["Q4_0", "Q5_1"]


@pytest.mark.parametrize("dtype", blocks.FORMATS)
def test_blocks_hold_the_weights_as_near_as_the_type_can(dtype: seeded.DType) -> None:
    weights = seeded.bell(512 * 256, "x", 0).reshape(512, 256) * np.float32(0.3)
    made = blocks.stored(weights, dtype, "x", 0)
    error = dequantize(made, GGMLQuantizationType[dtype]) - weights
    assert made.shape == blocks.stored_shape((512, 256), dtype)
    assert error.std() < 0.3 * (1.6 / blocks.FORMATS[dtype].levels + 0.03)  # steps, and tails out of reach


@pytest.mark.parametrize("dtype", get_args(seeded.DType))
def test_vectors_differ_in_every_type(tmp_path: Path, dtype: seeded.DType) -> None:
    for pooling in ("mean", "cls"):
        path, ids = vectors.tiny_model(tmp_path / f"{pooling}.gguf", dtype, pooling, "wordpiece")
        assert vectors.largest_cosine(vectors.encode_ids(path, ids)) < vectors.DIFFERENT


@pytest.mark.parametrize(("pooling", "kind"), list(product(get_args(seeded.Pooling), ("wordpiece", "unigram"))))
def test_different_texts_have_different_vectors(tmp_path: Path, pooling: seeded.Pooling, kind: str) -> None:
    path, ids = vectors.tiny_model(tmp_path / "m.gguf", "F16", pooling, kind)
    assert vectors.largest_cosine(vectors.encode_ids(path, ids)) < vectors.DIFFERENT


@pytest.mark.parametrize("kind", ["wordpiece", "unigram"])
def test_the_small_vocabularies_tokenize_words(tmp_path: Path, kind: str) -> None:
    vocabulary = vocabularies.named(kind)
    engine = Engine(seeded.tiny(tmp_path / "m.gguf", vocabulary=vocabulary))
    ids = engine.tokenize("why is the sky blue")[0]
    assert [engine.piece(i).decode() for i in ids[1:-1]] == ["▁why", "▁is", "▁the", "▁sky", "▁blue"]
    assert (ids[0], ids[-1]) == (vocabulary.opening, vocabulary.closing)
    assert engine.vocabulary_size == vocabulary.size


def test_token_ids_have_the_lengths_asked_for_and_repeat_words() -> None:
    vocabulary = vocabularies.small_unigram()
    texts = seeded.token_ids(vocabulary, (2, 15, 200))
    assert [len(text) for text in texts] == [2, 15, 200]
    assert texts == seeded.token_ids(vocabulary, (2, 15, 200))
    assert len(set(texts[2])) < 60
    assert all(vocabulary.first_text <= i < vocabulary.size - 1 for text in texts for i in text[1:-1])
