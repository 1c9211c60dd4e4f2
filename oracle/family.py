"""Encoders of architecture `bert` as they are published, and small files of their exact shapes.

Numbers are those of the models' config.json and 1_Pooling; keys are those that llama.cpp's converter writes. XLM-R
models lose two of their 514 or 8,194 positions in conversion.
"""

import base64
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from bankml.models.gguf_writer import Bert, Origin, Tensor, write
from bankml.models.xlm_roberta import Unigram, read_unigram
from oracle import seeded, vocabularies
from oracle.vocabularies import Vocabulary

if TYPE_CHECKING:
    from gguf import GGUFWriter

Words = Literal["bert", "xlm-r", "xlm-r of 250,037", "xlm-r in base64"]
CHARSMAP = "tokenizer.ggml.precompiled_charsmap"


@dataclass(frozen=True)
class Published:
    """One shape; `type_rows` counts token types, of which row 0 is used."""

    hidden: int
    heads: int
    ffn: int
    positions: int
    pooling: str
    words: Words
    epsilon: float
    type_rows: int


def _bert(hidden: int, heads: int, pooling: str, words: Words = "bert") -> Published:
    return Published(hidden, heads, 4 * hidden, 512, pooling, words, 1e-12, 2)


def _xlm_r(hidden: int, heads: int, pooling: str, positions: int = 512, words: Words = "xlm-r") -> Published:
    return Published(hidden, heads, 4 * hidden, positions, pooling, words, 1e-5, 1)


FAMILY = {
    "all-minilm-l6-v2": _bert(384, 12, "mean"),
    "all-minilm-l12-v2": _bert(384, 12, "mean"),
    "bge-small-en-v1.5": _bert(384, 12, "cls"),
    "bge-base-en-v1.5": _bert(768, 12, "cls"),
    "bge-large-en-v1.5": _bert(1024, 16, "cls"),
    "mxbai-embed-large-v1": _bert(1024, 16, "cls"),
    "snowflake-arctic-embed-xs": _bert(384, 12, "cls"),
    "snowflake-arctic-embed-s": _bert(384, 12, "cls"),
    "snowflake-arctic-embed-m": _bert(768, 12, "cls"),
    "snowflake-arctic-embed-l": _bert(1024, 16, "cls"),
    "paraphrase-multilingual-minilm-l12-v2": _bert(384, 12, "mean", "xlm-r of 250,037"),
    "multilingual-e5-small": _bert(384, 12, "mean", "xlm-r of 250,037"),
    "paraphrase-multilingual-mpnet-base-v2": _xlm_r(768, 12, "mean"),
    "multilingual-e5-base": _xlm_r(768, 12, "mean"),
    "multilingual-e5-large": _xlm_r(1024, 16, "mean"),
    "granite-embedding-278m-multilingual": _xlm_r(768, 12, "cls"),
    "bge-m3": _xlm_r(1024, 16, "cls", 8192),
    "snowflake-arctic-embed-l-v2.0": _xlm_r(1024, 16, "cls", 8192, "xlm-r in base64"),
}


def make(path: Path, model: Published, ids: Iterable[int], layers: int = 2, mute: bool = False) -> Path:
    """Writes a file of the shape with seeded weights in F16. Of the token table only the rows `ids` take room.

    A `mute` file has the same weights and no vocabulary: gguf-py needs ten seconds to read XLM-R's.
    """
    words = vocabulary(model.words)
    *tensors, table = _tensors(model, words.size, layers)
    add = (lambda writer: None) if mute else words.add
    write(path, Origin("seeded"), _numbers(model, layers), add, tensors, later=[table])
    _write_rows(path, table, ids)
    return path


def _write_rows(path: Path, table: Tensor, ids: Iterable[int]) -> None:
    """The table at the end of the file: a hole with the rows of `ids` in it."""
    start, width = path.stat().st_size, table.shape[1]
    with path.open("r+b") as file:
        file.truncate(start + table.bytes)
        for index in set(ids):
            file.seek(start + 2 * width * index)
            file.write(seeded.bell(width, "token_embd", index).astype(np.float16).tobytes())


def _numbers(model: Published, layers: int) -> Bert:
    return Bert(
        layers=layers,
        hidden=model.hidden,
        ffn=model.ffn,
        heads=model.heads,
        context_length=model.positions,
        epsilon=model.epsilon,
        pooling=model.pooling,
        type_rows=model.type_rows,
        matrices="F16",
    )


def _tensors(model: Published, entries: int, layers: int) -> Iterable[Tensor]:
    """The token table last."""
    shape = seeded.Shape(layers, model.hidden, model.heads, model.ffn, model.positions)
    listed = {tensor.name: tensor for tensor in seeded.tensors(shape, entries, "F16", seed=0)}
    table = listed.pop("token_embd.weight")
    size = (model.type_rows, model.hidden)
    load = partial(seeded.normal, "token_types.weight", size, seeded.TYPE, 0)
    listed["token_types.weight"] = Tensor("token_types.weight", "F32", size, load)
    return [*listed.values(), table]


@cache
def vocabulary(words: Words) -> Vocabulary:
    """The real vocabulary."""
    if words == "bert":
        return vocabularies.minilm()
    if words == "xlm-r":
        return vocabularies.xlmr()
    pieces = read_unigram(vocabularies.xlmr_file(), 250_037 if words == "xlm-r of 250,037" else 250_002)
    if words == "xlm-r of 250,037":
        return vocabularies.unigram(pieces)
    return _in_base64(pieces)


def _in_base64(pieces: Unigram) -> Vocabulary:
    """The charsmap as Ollama's registry has arctic-embed2's: an array of one-character strings of base64."""
    bare = vocabularies.unigram(Unigram(pieces.pieces, pieces.scores, pieces.types, b""))

    def add(writer: "GGUFWriter") -> None:
        bare.add(writer)
        writer.add_array(CHARSMAP, list(base64.b64encode(pieces.charsmap).decode("ascii")))

    return Vocabulary(bare.kind, bare.size, bare.opening, bare.closing, bare.first_text, add)
