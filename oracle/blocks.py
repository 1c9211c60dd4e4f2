"""Weights as blocks of a tensor type: by gguf-py where it can write the type, of the nearest quants where it cannot.

Those have random but sane sub-scales and minima, and a scale of either sign in each block: they meet every bit of the
format, which a quantiser's do not.
"""

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType
from gguf.quants import dequantize, quantize
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Bytes = NDArray[np.integer[Any]]  # uint8; shifts of it are typed more widely
Fields = dict[int, Bytes]  # where bytes stand in a block → them (blocks, width)


@dataclass(frozen=True)
class Format:
    """A type that gguf-py only reads."""

    levels: int
    halves: dict[int, float]  # where the scale stands, and the minimum's, with its ratio to the scale
    reach: float  # the largest weight over the scale and the deviation
    pack: Callable[[Bytes], Fields]  # quants (blocks, values)
    sub_scales: Callable[[Bytes], Fields]  # from random bytes (blocks, 16)


def stored_shape(shape: tuple[int, int], dtype: str) -> tuple[int, int]:
    """Of the array that a file holds for (outputs, inputs): bytes, but for the types that numpy knows."""
    block, size = GGML_QUANT_SIZES[GGMLQuantizationType[dtype]]
    return shape if dtype in ("F32", "F16") else (shape[0], shape[1] // block * size)


def stored(weights: Floats, dtype: str, name: str, seed: int) -> NDArray[Any]:
    """That array; what is random in it comes from `name` and `seed`."""
    if dtype in ("F32", "F16"):
        return weights
    if dtype in FORMATS:
        return _quantise(weights, dtype, np.random.Philox(key=[seed, zlib.crc32(name.encode())]))
    quantised: Bytes = quantize(weights, GGMLQuantizationType[dtype])
    return quantised


def _quantise(weights: Floats, dtype: str, philox: np.random.Philox) -> Bytes:
    kind, form = GGMLQuantizationType[dtype], FORMATS[dtype]
    values, size = GGML_QUANT_SIZES[kind]
    wanted = weights.reshape(-1, values)
    blocks = np.zeros((len(wanted), size), dtype=np.uint8)
    raw = philox.random_raw(3 * len(wanted)).reshape(3, -1)
    scale = (raw[0] / 2**64 * 0.4 - 0.2 + np.where(raw[0] & 1, 1, -1)) * float(weights.std()) / form.reach
    _set(blocks, {at: (scale * ratio).astype("<f2").view(np.uint8).reshape(-1, 2) for at, ratio in form.halves.items()})
    _set(blocks, form.sub_scales(np.ascontiguousarray(raw[1:].T).view(np.uint8)))
    best, error = np.zeros(wanted.shape, np.uint8), np.full(wanted.shape, np.inf, np.float32)
    for level in range(form.levels):
        _set(blocks, form.pack(np.full(wanted.shape, level, np.uint8)))
        distance = np.abs(dequantize(blocks.reshape(-1), kind).reshape(wanted.shape) - wanted)  # flat: in one piece
        best[distance < error] = level
        np.minimum(error, distance, out=error)
    _set(blocks, form.pack(best))
    return blocks.reshape(stored_shape(weights.shape, dtype))


def _set(blocks: Bytes, fields: Fields) -> None:
    for at, field in fields.items():
        blocks[:, at : at + field.shape[1]] = field


def _nibbles(q: Bytes, span: int) -> Bytes:
    """Lower nibbles `span` values, then higher nibbles as many."""
    pairs = q.reshape(len(q), -1, 2, span)
    joined: Bytes = (pairs[:, :, 0] & 15 | pairs[:, :, 1] << 4).reshape(len(q), -1)
    return joined


def _crumbs(q: Bytes) -> Bytes:
    """Two bits of four values 32 apart in a byte, the first lowest."""
    fours = q.reshape(len(q), -1, 4, 32) & 3
    joined: Bytes = (fours << np.array([0, 2, 4, 6], np.uint8)[:, None]).sum(axis=2, dtype=np.uint8).reshape(len(q), -1)
    return joined


def _bits(q: Bytes) -> Bytes:
    """One bit of eight values 32 apart in a byte, the first lowest."""
    return np.packbits(q.reshape(len(q), 8, 32), axis=1, bitorder="little").reshape(len(q), 32)


def _upper(random: Bytes) -> Fields:
    """Twelve bytes of six-bit scales and minima, all in 48 to 63."""
    return {4: np.concatenate([random[:, :8] | 0xF0, random[:, 8:12]], axis=1)}


FORMATS = {
    "IQ4_NL": Format(16, {0: 1}, 120 / 2.5, lambda q: {2: _nibbles(q, 16)}, lambda r: {}),
    # scales and minima 14 and 15
    "Q2_K": Format(4, {80: 1, 82: 1.5}, 14.5, lambda q: {16: _crumbs(q)}, lambda r: {0: r | 0xEE}),
    # scales -32 to -17 and 16 to 31
    "Q3_K": Format(
        8,
        {108: 1},
        24 * 3.5 / 2.2,
        lambda q: {0: _bits(q >> 2), 32: _crumbs(q)},
        lambda r: {96: r[:, :8], 104: (r[:, 8:12] & 0x55) * np.uint8(3)},
    ),
    "Q4_K": Format(16, {0: 1, 2: 7.5}, 55.5 * 7.5 / 2.5, lambda q: {16: _nibbles(q, 32)}, _upper),
    "Q5_K": Format(32, {0: 1, 2: 15.5}, 55.5 * 15.5 / 2.5, lambda q: {16: _bits(q >> 4), 48: _nibbles(q, 32)}, _upper),
    # scales -128 to -65 and 64 to 127
    "Q6_K": Format(
        64,
        {208: 1},
        96 * 32 / 3,
        lambda q: {0: _nibbles(q, 64), 128: _crumbs(q >> 4)},
        lambda r: {192: r & 0xBF | ~r >> 1 & 0x40},
    ),
}
