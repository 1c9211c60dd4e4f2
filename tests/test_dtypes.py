"""Blocks → floats, bit-equal to gguf-py on seeded blocks (csrc/dtypes)."""

import gguf
import numpy as np
import pytest
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType

from bankml import InputError
from bankml._engine import dequantize

SUPPORTED = [GGMLQuantizationType[name] for name in ("F32", "F16", "Q8_0", "Q4_0")]
OTHERS = [t for t in GGMLQuantizationType if t not in SUPPORTED]


def seeded_blocks(kind: GGMLQuantizationType, count: int) -> bytes:
    """Random bytes with finite scales: F16 and F32 values lose the exponent that means infinity or NaN."""
    size = GGML_QUANT_SIZES[kind][1]
    blocks = np.random.default_rng(int(kind)).integers(0, 256, (count, size), dtype=np.uint8)
    blocks[:, 3 if kind == GGMLQuantizationType.F32 else 1] &= 0xBB
    return blocks.tobytes()


@pytest.mark.parametrize("kind", SUPPORTED, ids=lambda kind: kind.name)
def test_bits_equal_gguf_py(kind: GGMLQuantizationType) -> None:
    blocks = seeded_blocks(kind, 4096)
    ours = dequantize(int(kind), blocks)
    theirs = gguf.quants.dequantize(np.frombuffer(blocks, np.uint8), kind).astype(np.float32)
    assert ours.tobytes() == theirs.tobytes()
    assert np.isfinite(ours).all()


@pytest.mark.parametrize("kind", OTHERS, ids=lambda kind: kind.name)
def test_other_types_are_refused_by_name(kind: GGMLQuantizationType) -> None:
    with pytest.raises(InputError, match=kind.name):
        dequantize(int(kind), b"")


def test_parts_of_blocks_and_unknown_types_are_refused() -> None:
    with pytest.raises(InputError, match="33 bytes"):
        dequantize(int(GGMLQuantizationType.Q8_0), bytes(33))
    with pytest.raises(InputError, match="99"):
        dequantize(99, b"")
