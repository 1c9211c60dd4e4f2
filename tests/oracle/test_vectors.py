"""The comparison of vectors: passes for the engine, and fails for every planted fault."""

from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from oracle import seeded, vectors
from oracle.reference import FAULTS, Fault, Reference

TEXTS = slice(0, 4)  # 2 to 65 tokens


@pytest.mark.parametrize("pooling", get_args(seeded.Pooling))
def test_the_engine_is_close_to_float64(tmp_path: Path, pooling: seeded.Pooling) -> None:
    path, ids = vectors.tiny_model(tmp_path / "m.gguf", "F16", pooling, "unigram")
    found = vectors.distance(vectors.encode_ids(path, ids), Reference(path).encode_ids(ids))
    assert vectors.FLOATS.allows(found), found


@pytest.mark.parametrize("pooling", get_args(seeded.Pooling))
@pytest.mark.parametrize("fault", FAULTS)
def test_every_planted_fault_is_caught(tmp_path: Path, fault: Fault, pooling: seeded.Pooling) -> None:
    path, ids = vectors.tiny_model(tmp_path / "m.gguf", "F16", pooling, "wordpiece")
    assert not vectors.FLOATS.allows(vectors.fault_distance(path, ids[TEXTS], fault))


@pytest.mark.parametrize("fault", FAULTS)
def test_every_planted_fault_is_caught_in_a_real_model(minilm: Path, fault: Fault) -> None:
    ids = [[101, 2339, 2003, 1996, 3712, 2630, 1029, 102], [101, 4937, 102]]
    assert not vectors.FLOATS.allows(vectors.fault_distance(minilm, ids, fault))


def test_an_engine_with_the_other_gelu_is_caught(minilm: Path) -> None:
    ids = [[101, 2339, 2003, 1996, 3712, 2630, 1029, 102]]
    right = Reference(minilm).encode_ids(ids)
    assert vectors.FLOATS.allows(vectors.distance(vectors.encode_ids(minilm, ids), right))
    assert not vectors.FLOATS.allows(vectors.distance(vectors.encode_ids(minilm, ids, "tanh"), right))


def test_distance_is_the_worst_of_all_rows() -> None:
    ours = [np.array([1.0, 0.0]), np.array([[0.6, 0.8], [1.0, 0.0]])]
    theirs = [np.array([1.0, 0.0]), np.array([[0.6, 0.8], [0.8, 0.6]])]
    found = vectors.distance(ours, theirs)
    assert found.cosine == pytest.approx(0.8)
    assert found.delta == pytest.approx(0.6)
    assert not vectors.INTEGERS.allows(found)


@pytest.mark.parametrize(("cosine", "delta", "close"), [(1, 1e-5, True), (1, 1.1e-5, False), (0.999998, 0, False)])
def test_both_limits_count(cosine: float, delta: float, close: bool) -> None:
    assert vectors.FLOATS.allows(vectors.Distance(cosine, delta)) is close


def test_not_a_number_is_not_close() -> None:
    assert not vectors.INTEGERS.allows(vectors.distance([np.array([np.nan, 1.0])], [np.array([0.0, 1.0])]))


@pytest.mark.parametrize(("dtype", "tolerance"), [("F16", "FLOATS"), ("Q8_0", "INTEGERS"), ("IQ4_NL", "INTEGERS")])
def test_weights_in_blocks_have_a_tolerance_of_their_own(tmp_path: Path, dtype: seeded.DType, tolerance: str) -> None:
    path = seeded.tiny(tmp_path / "model.gguf", dtype=dtype)
    assert vectors.tolerance(path) == getattr(vectors, tolerance)


@pytest.mark.parametrize(("dtype", "limit"), [("F32", 0.9999), ("F16", 0.9999), ("BF16", 0.999), ("Q4_K", 0.99)])
def test_llama_cpp_is_as_near_as_it_rounds(tmp_path: Path, dtype: seeded.DType, limit: float) -> None:
    assert vectors.llama_limit(seeded.tiny(tmp_path / "m.gguf", dtype=dtype, hidden=256, ffn=256)) == limit


def test_largest_cosine_is_of_different_texts() -> None:
    assert vectors.largest_cosine([np.array([1.0, 0.0]), np.array([0.0, 2.0])]) == pytest.approx(0.0)
    assert vectors.largest_cosine([np.array([1.0, 0.0]), np.array([3.0, 0.0])]) == pytest.approx(1.0)
