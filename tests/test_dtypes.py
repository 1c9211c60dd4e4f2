"""Blocks → floats, bit-equal to gguf-py on seeded blocks (csrc/dtypes)."""

import gguf
import numpy as np
import pytest
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType
from numpy.typing import NDArray

from bankml import InputError
from bankml._engine import dequantize

# Where the halves of a block stand: scales and minima, or the value itself.
HALVES = {
    "F16": (0,),
    "Q8_0": (0,),
    "Q4_0": (0,),
    "Q4_1": (0, 2),
    "Q5_0": (0,),
    "Q5_1": (0, 2),
    "IQ4_NL": (0,),
    "Q2_K": (80, 82),
    "Q3_K": (108,),
    "Q4_K": (0, 2),
    "Q5_K": (0, 2),
    "Q6_K": (208,),
}
FINITE_HALVES = np.flatnonzero(np.isfinite(np.arange(1 << 16, dtype=np.uint16).view(np.float16))).astype(np.uint16)
SUPPORTED = [GGMLQuantizationType[name] for name in ("F32", "BF16", *HALVES)]
OTHERS = [t for t in GGMLQuantizationType if t not in SUPPORTED]


def seeded_blocks(kind: GGMLQuantizationType) -> NDArray[np.uint8]:
    """Random bytes; each half takes every finite pattern once: both zeros, subnormal, negative, the largest."""
    rng = np.random.default_rng(int(kind))
    blocks = rng.integers(0, 256, (len(FINITE_HALVES), GGML_QUANT_SIZES[kind][1]), dtype=np.uint8)
    for at in HALVES.get(kind.name, ()):
        blocks[:, at : at + 2] = rng.permutation(FINITE_HALVES).view(np.uint8).reshape(-1, 2)
    if kind.name in ("F32", "BF16"):
        blocks[:, -1] &= 0xBF  # no exponent that means infinity or NaN
    return blocks


def test_the_engine_and_this_test_know_the_same_types() -> None:
    with pytest.raises(InputError) as error:
        dequantize(int(GGMLQuantizationType.IQ1_S), b"")
    listed = str(error.value).partition(": ")[2].split(", ")
    assert sorted(listed) == sorted(kind.name for kind in SUPPORTED)


@pytest.mark.parametrize("kind", SUPPORTED, ids=lambda kind: kind.name)
def test_bits_equal_gguf_py(kind: GGMLQuantizationType) -> None:
    blocks = seeded_blocks(kind)
    ours = dequantize(int(kind), blocks.tobytes())
    theirs = gguf.quants.dequantize(blocks.reshape(-1), kind).astype(np.float32)
    assert ours.tobytes() == theirs.tobytes()
    assert np.isfinite(ours).all()


def test_every_bf16() -> None:
    every = np.arange(1 << 16, dtype=np.uint16)
    ours = dequantize(int(GGMLQuantizationType.BF16), every.tobytes())
    assert np.array_equal(ours.view(np.uint32), every.astype(np.uint32) << 16)


@pytest.mark.parametrize("kind", OTHERS, ids=lambda kind: kind.name)
def test_other_types_are_refused_by_name(kind: GGMLQuantizationType) -> None:
    with pytest.raises(InputError, match=kind.name):
        dequantize(int(kind), b"")


def test_parts_of_blocks_and_unknown_types_are_refused() -> None:
    with pytest.raises(InputError, match="33 bytes"):
        dequantize(int(GGMLQuantizationType.Q8_0), bytes(33))
    with pytest.raises(InputError, match="209 bytes"):
        dequantize(int(GGMLQuantizationType.Q6_K), bytes(209))
    with pytest.raises(InputError, match="99"):
        dequantize(99, b"")
