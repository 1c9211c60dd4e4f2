"""Writes a `bert` encoder as a GGUF file that llama.cpp, Ollama and bankml load. Same input, same bytes."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bankml.errors import ModelError
from bankml.gguf_numbers import POOLINGS, file_type
from bankml.models.progress import Progress, silent

if TYPE_CHECKING:
    from gguf import GGUFWriter

FLOAT_TYPE: dict[str, np.dtype[Any]] = {"F32": np.dtype("<f4"), "F16": np.dtype("<f2")}


def item_type(name: str) -> np.dtype[Any]:
    """Of a stored array's elements: bytes, but for the types that numpy knows."""
    return FLOAT_TYPE.get(name, np.dtype("u1"))


@dataclass(frozen=True)
class Origin:
    """Where the weights come from; stored in the file, so that it travels with it."""

    name: str
    licence: str = ""
    source: str = ""
    organization: str = ""


@dataclass(frozen=True)
class Bert:
    """The encoder's numbers; `matrices` is the type of the weight matrices, `type_rows` counts token types."""

    layers: int
    hidden: int
    ffn: int
    heads: int
    context_length: int
    epsilon: float
    pooling: str
    type_rows: int
    matrices: str


Loaded = NDArray[Any] | Iterator[NDArray[Any]]
"""A tensor's array, whole or in runs of its rows."""


@dataclass(frozen=True)
class Tensor:
    """A tensor to write. `shape` is the stored array's, outputs first; of Q4_0 the bytes: (outputs, inputs/32·18)."""

    name: str
    type: str
    shape: tuple[int, ...]
    load: Callable[[], Loaded]

    @property
    def bytes(self) -> int:
        """Size of the stored array."""
        return math.prod(self.shape) * item_type(self.type).itemsize


def write(
    path: Path,
    origin: Origin,
    bert: Bert,
    tokenizer: Callable[["GGUFWriter"], None],
    tensors: Sequence[Tensor],
    progress: Progress = silent,
    later: Sequence[Tensor] = (),
) -> None:
    """Writes the file, one tensor or run of rows in memory at a time. `tokenizer` adds the `tokenizer.ggml` keys.

    Tensors of `later` are only announced, behind the others: the caller appends their data.
    """
    from gguf import GGUFWriter

    writer = GGUFWriter(path, "bert")
    try:
        _add_origin(writer, origin)
        _add_bert(writer, bert)
        tokenizer(writer)
        for tensor in (*tensors, *later):
            _announce(writer, tensor)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_ti_data_to_file()
        _write_data(writer, origin.name, tensors, progress)
    finally:
        writer.close()


def _add_origin(writer: "GGUFWriter", origin: Origin) -> None:
    writer.add_type("model")
    writer.add_name(origin.name)
    if origin.organization:
        writer.add_organization(origin.organization)
    if origin.licence:
        writer.add_license(origin.licence.lower())  # the hub's identifiers are lower-case
    if origin.source:
        writer.add_source_url(origin.source)


def _add_bert(writer: "GGUFWriter", bert: Bert) -> None:
    writer.add_file_type(file_type(bert.matrices))
    writer.add_quantization_version(2)
    writer.add_block_count(bert.layers)
    writer.add_context_length(bert.context_length)
    writer.add_embedding_length(bert.hidden)
    writer.add_feed_forward_length(bert.ffn)
    writer.add_head_count(bert.heads)
    writer.add_layer_norm_eps(bert.epsilon)
    writer.add_causal_attention(False)
    writer.add_uint32("bert.pooling_type", POOLINGS.index(bert.pooling))
    writer.add_token_type_count(bert.type_rows)


def _announce(writer: "GGUFWriter", tensor: Tensor) -> None:
    from gguf import GGMLQuantizationType

    item = item_type(tensor.type)
    writer.add_tensor_info(tensor.name, tensor.shape, item, tensor.bytes, GGMLQuantizationType[tensor.type])


def _write_data(writer: "GGUFWriter", what: str, tensors: Sequence[Tensor], progress: Progress) -> None:
    assert writer.fout is not None
    file, total, done = writer.fout[0], sum(tensor.bytes for tensor in tensors), 0
    for tensor in tensors:
        writer.write_padding(file, file.tell())
        for run in _stored(tensor):
            file.write(run.reshape(-1).view(np.uint8).data)
            done += run.nbytes
            progress(f"converting {what}", done, total)
    writer.write_padding(file, file.tell())


def _stored(tensor: Tensor) -> Iterator[NDArray[Any]]:
    loaded, rows = tensor.load(), 0
    for run in loaded if isinstance(loaded, Iterator) else iter([loaded]):
        array = np.asarray(run)
        rows += len(array)
        if array.shape[1:] != tensor.shape[1:] or rows > tensor.shape[0]:
            raise _misfit(tensor, (rows, *array.shape[1:]))
        yield _encoded(tensor, array)
    if rows != tensor.shape[0]:
        raise _misfit(tensor, (rows, *tensor.shape[1:]))


def _encoded(tensor: Tensor, array: NDArray[Any]) -> NDArray[Any]:
    if array.dtype.kind == "f":
        with np.errstate(over="ignore"):
            array = array.astype(item_type(tensor.type), copy=False)
        if not np.isfinite(array).all():
            raise ModelError(f"{tensor.name} has a value that {tensor.type} cannot hold: the weights are damaged")
    return np.ascontiguousarray(array)


def _misfit(tensor: Tensor, shape: tuple[int, ...]) -> ModelError:
    return ModelError(f"{tensor.name} has shape {shape}, not {tensor.shape}: the weights do not fit their config")
