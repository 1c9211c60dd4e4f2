"""What is timed: which texts of which model, as token ids, and how many f32 operations the graph has for them."""

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np

from bankml._engine import GGUF


@dataclass(frozen=True)
class Model:
    """A model file by name, with the special ids around every text and the ids that stand for text."""

    name: str
    path: Callable[[], Path]
    opening: int
    closing: int
    text_ids: tuple[int, int]  # from, up to

    def texts(self, lengths: Sequence[int]) -> list[list[int]]:
        """A text of each length in tokens; seeded. Which ids they are changes no time, only which rows are read."""
        generator = np.random.Generator(np.random.Philox(key=zlib.crc32(self.name.encode())))
        bodies = [generator.integers(*self.text_ids, length - 2) for length in lengths]
        return [[self.opening, *map(int, body), self.closing] for body in bodies]


@dataclass(frozen=True)
class Case:
    """One line of the table: the lengths of the texts of one call, and how often it is timed.

    A round is a turn of each engine; a turn is `repeats` calls, of which the median counts.
    """

    model: Model
    name: str
    lengths: tuple[int, ...]
    rounds: int
    repeats: int = 1

    @property
    def tokens(self) -> int:
        """Tokens of one call."""
        return sum(self.lengths)

    def __str__(self) -> str:
        return f"{self.model.name} {self.name}"


def operations(path: Path, lengths: Sequence[int]) -> float:
    """f32 operations of the whole graph (a multiply-add is two): products and attention, no norms or activations.

    bankml leaves out what `cls` pooling does not need of the last layer; that is counted here all the same.
    """
    metadata = GGUF(path).metadata
    layers, hidden, ffn = (
        metadata[f"bert.{key}"] for key in ("block_count", "embedding_length", "feed_forward_length")
    )
    linear = 2 * (4 * hidden * hidden + 2 * hidden * ffn)  # a token
    attention = 4 * hidden  # a token and key
    return float(layers * sum(length * (linear + attention * length) for length in lengths))


def layer_bytes(path: Path) -> int:
    """Bytes of the layers' tensors in the file: what one pass over few tokens must read."""
    return sum(int(tensor["bytes"]) for tensor in GGUF(path).tensors if tensor["name"].startswith("blk."))


def _builtin(name: str) -> Callable[[], Path]:
    def path() -> Path:
        from bankml import models

        return models.pull(name)

    return path


def _bge_m3_shape(dtype: Literal["F16", "Q8_0"]) -> Path:
    from oracle import seeded

    return seeded.bge_m3_shape(dtype=dtype)


MINILM = Model("all-minilm-l6-v2 F16", _builtin("all-minilm-l6-v2"), 101, 102, (1000, 30_000))
E5_SMALL = Model("multilingual-e5-small Q4_0", _builtin("multilingual-e5-small"), 0, 2, (4, 250_000))
BGE_M3 = Model("bge-m3 shape F16", partial(_bge_m3_shape, "F16"), 0, 2, (4, 250_000))
BGE_M3_Q8_0 = Model("bge-m3 shape Q8_0", partial(_bge_m3_shape, "Q8_0"), 0, 2, (4, 250_000))

CASES = (
    Case(MINILM, "1 x 12", (12,), rounds=9, repeats=20),
    Case(MINILM, "64 x 32", (32,) * 64, rounds=7),
    Case(MINILM, "1 x 512", (512,), rounds=7, repeats=3),
    Case(E5_SMALL, "1 x 12", (12,), rounds=9, repeats=20),
    Case(E5_SMALL, "64 x 32", (32,) * 64, rounds=7),
    Case(E5_SMALL, "1 x 512", (512,), rounds=7),
    Case(BGE_M3, "1 x 15", (15,), rounds=9, repeats=3),
    Case(BGE_M3, "1 x 512", (512,), rounds=7),
    Case(BGE_M3, "8 x 483", (483,) * 8, rounds=3),  # a turn of all takes nearly a minute
    Case(BGE_M3_Q8_0, "1 x 15", (15,), rounds=9, repeats=3),
    Case(BGE_M3_Q8_0, "1 x 512", (512,), rounds=5),
)
