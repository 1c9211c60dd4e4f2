"""Models with seeded weights: small ones of every type and pooling, and bge-m3's full shape. Same seed, same bytes.

Weights are scaled so that different texts get clearly different vectors; a check against a constant proves nothing.
"""

import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bankml.models import atomic
from bankml.models.gguf_writer import Bert, Origin, Tensor, write
from oracle import blocks, cache, vocabularies
from oracle.vocabularies import Vocabulary

DType = Literal[
    "F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "IQ4_NL", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K"
]
Pooling = Literal["mean", "cls", "last", "none"]
Floats = NDArray[np.float32]

CHUNK = 1 << 20  # numbers at a time

# Standard deviation of what each tensor adds, beside a residual stream of 1. Anything that all texts share (type row,
# biases, the mean of GELU) is kept small, or it would be all that is left of a long text's mean. With these the largest
# cosine between 26 texts of 2 to 200 tokens was 0.38 in bge-m3's shape; with a weaker FFN and 0.5 for positions, 0.64.
POSITION, TYPE, BIAS, NORM = 0.3, 0.02, 0.02, 0.1
SCALE = {"attn_q": 1.6, "attn_k": 1.6, "ffn_up": 1.5, "ffn_down": 0.7}
MIXING_SHALLOW, MIXING_DEEP, SHALLOW = (
    2.2,
    1.3,
    6,
)  # attn_v, attn_output: few layers must mix more for cls to see the text


@dataclass(frozen=True)
class Shape:
    """Sizes of a model: `positions` is its context length."""

    layers: int
    hidden: int
    heads: int
    ffn: int
    positions: int


BGE_M3 = Shape(layers=24, hidden=1024, heads=16, ffn=4096, positions=8192)


def tiny(
    path: Path,
    *,
    dtype: DType = "F16",
    pooling: Pooling = "mean",
    vocabulary: str | Vocabulary = "wordpiece",
    layers: int = 2,
    hidden: int = 64,
    heads: int = 4,
    ffn: int = 128,
    seed: int = 0,
    positions: int = 512,
    types: Mapping[str, DType] | None = None,
) -> Path:
    """Writes a small model and returns its path. `vocabulary` is a Vocabulary or a name as in vocabularies.named.

    `types` gives some matrices another type than `dtype`: {"ffn_down": "Q6_K", "blk.0.attn_v": "Q8_0"}.
    """
    shape = Shape(layers, hidden, heads, ffn, positions)
    return make(path, shape, vocabulary, dtype, pooling, seed, types)


def bge_m3_shape(path: Path | None = None, dtype: DType = "F16") -> Path:
    """The file of bge-m3's shape (F16: 1.16 GB, CLS, XLM-R's vocabulary), made once: in the cache or at `path`."""
    recipe = zlib.crc32(repr((2, BGE_M3, POSITION, TYPE, BIAS, NORM, SCALE, MIXING_DEEP)).encode())
    name = f"bge-m3-shape-{dtype.lower()}-{recipe:08x}.gguf"  # other scales make another file
    path = path or cache.folder() / name
    if not path.is_file():
        with atomic.lock(path.with_name(f".{path.name}.lock")), atomic.replacement(path) as temporary:
            make(temporary, BGE_M3, "xlmr", dtype, "cls", seed=0)
    return path


def make(
    path: Path,
    shape: Shape,
    vocabulary: str | Vocabulary,
    dtype: DType,
    pooling: Pooling,
    seed: int,
    types: Mapping[str, DType] | None = None,
) -> Path:
    """Writes a seeded model of any shape; `hidden` and `ffn` must be multiples of a type's block, 32 or 256 (…_K)."""
    words = vocabularies.named(vocabulary) if isinstance(vocabulary, str) else vocabulary
    epsilon = 1e-12 if words.kind == "wordpiece" else 1e-5  # BERT's and XLM-R's
    bert = Bert(
        layers=shape.layers,
        hidden=shape.hidden,
        ffn=shape.ffn,
        heads=shape.heads,
        context_length=shape.positions,
        epsilon=epsilon,
        pooling=pooling,
        type_rows=1,
        matrices=dtype,
    )
    name = f"seeded-{shape.layers}x{shape.hidden}-{words.kind}-{dtype}-{pooling}".lower()
    write(path, Origin(name), bert, words.add, list(tensors(shape, words.size, dtype, seed, types)))
    return path


def token_ids(vocabulary: Vocabulary, lengths: Sequence[int], seed: int = 0) -> list[list[int]]:
    """A text of each length, as ids with the special tokens; like real texts they repeat their words."""
    philox = np.random.Philox(key=[seed, zlib.crc32(b"texts")])
    texts = []
    for length in lengths:
        span = vocabulary.size - 1 - vocabulary.first_text
        words = vocabulary.first_text + philox.random_raw(max(1, length // 4)) % span
        body = words[philox.random_raw(length - 2) % len(words)]
        texts.append([vocabulary.opening, *map(int, body), vocabulary.closing])
    return texts


def tensors(
    shape: Shape, entries: int, dtype: DType, seed: int, types: Mapping[str, DType] | None = None
) -> Iterator[Tensor]:
    """Every tensor of the shape, by ggml's names; `types` as in `tiny`."""
    types = types or {}
    hidden, ffn = shape.hidden, shape.ffn
    yield _matrix("token_embd", (entries, hidden), 1.0, types.get("token_embd", dtype), seed)
    yield _matrix("position_embd", (shape.positions, hidden), POSITION, "F32", seed)
    yield _matrix("token_types", (1, hidden), TYPE, "F32", seed)
    yield from _norm("token_embd_norm", hidden, seed)
    mixing = MIXING_SHALLOW if shape.layers <= SHALLOW else MIXING_DEEP
    for layer in range(shape.layers):
        for name in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_up", "ffn_down"):
            scale = SCALE.get(name, mixing)
            outputs, inputs = {"ffn_up": (ffn, hidden), "ffn_down": (hidden, ffn)}.get(name, (hidden, hidden))
            full = f"blk.{layer}.{name}"
            kind = types.get(full, types.get(name, dtype))
            yield _matrix(full, (outputs, inputs), scale / inputs**0.5, kind, seed)
            yield _vector(f"{full}.bias", outputs, 0.0, BIAS, seed)
        yield from _norm(f"blk.{layer}.attn_output_norm", hidden, seed)
        yield from _norm(f"blk.{layer}.layer_output_norm", hidden, seed)


def _norm(name: str, size: int, seed: int) -> Iterator[Tensor]:
    yield _vector(f"{name}.weight", size, 1.0, NORM, seed)
    yield _vector(f"{name}.bias", size, 0.0, BIAS, seed)


def _vector(name: str, size: int, mean: float, deviation: float, seed: int) -> Tensor:
    return Tensor(name, "F32", (size,), lambda: np.float32(mean) + normal(name, (size,), deviation, seed))


def _matrix(module: str, shape: tuple[int, int], deviation: float, dtype: DType, seed: int) -> Tensor:
    name = f"{module}.weight"
    return Tensor(name, dtype, blocks.stored_shape(shape, dtype), partial(_stored, name, shape, deviation, dtype, seed))


def _stored(name: str, shape: tuple[int, int], deviation: float, dtype: DType, seed: int) -> NDArray[Any]:
    return blocks.stored(normal(name, shape, deviation, seed), dtype, name, seed)


def normal(name: str, shape: tuple[int, ...], deviation: float, seed: int) -> Floats:
    """The weights of the tensor `name`."""
    values = bell(math.prod(shape), name, seed).reshape(shape)
    values *= np.float32(deviation)
    if "ffn_down" in name and len(shape) == 2:
        values -= values.mean(axis=1, keepdims=True)  # GELU's mean is positive: it would push every text the same way
    return values


def bell(count: int, name: str, seed: int) -> Floats:
    """Nearly normal numbers, mean 0 and deviation 1: sums of four 16-bit numbers.

    They come from Philox's raw bits, which numpy never changes, unlike its distributions.
    """
    philox = np.random.Philox(key=[seed, zlib.crc32(name.encode())])
    values = np.empty(count, dtype=np.float32)
    for start in range(0, count, CHUNK):
        part = values[start : start + CHUNK]
        part[:] = philox.random_raw(len(part)).view(np.uint16).reshape(-1, 4).sum(axis=1, dtype=np.uint32)
    values -= np.float32(2 * 65535)
    values /= np.float32(math.sqrt(4 * (65536**2 - 1) / 12))
    return values
