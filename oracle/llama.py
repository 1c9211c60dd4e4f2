"""llama.cpp in this process (llama-cpp-python), fed with token ids: one text a batch, flash attention off."""

import ctypes
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import llama_cpp
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Tokenizer:
    """The file's vocabulary as llama.cpp tokenizes with it. The text of a special token is text."""

    def __init__(self, path: Path) -> None:
        options = llama_cpp.llama_model_default_params()
        options.vocab_only = True
        self._model = _load(path, options)
        self._vocabulary = llama_cpp.llama_model_get_vocab(self._model)

    def ids(self, text: str) -> list[int]:
        """With the special tokens that the file asks for."""
        raw = text.encode()
        room = len(raw) + 8  # a token has at least a byte, or is a special one
        found = (ctypes.c_int32 * room)()
        count = llama_cpp.llama_tokenize(self._vocabulary, raw, len(raw), found, room, True, False)
        if count < 0:
            raise RuntimeError(f"llama.cpp found {-count} tokens in {len(raw)} bytes")
        return found[:count]

    def __del__(self) -> None:
        llama_cpp.llama_model_free(self._model)


def encode_ids(path: Path, texts: Sequence[Sequence[int]]) -> list[Floats]:
    """A unit vector (dims,) for each text, or (tokens, dims) when the model does not pool. Raises RuntimeError."""
    with _model(path) as model:
        return [_encode(model, ids) for ids in texts]


def _encode(model: Any, ids: Sequence[int]) -> Floats:
    with _context(model, len(ids)) as context, _batch(ids) as batch:
        if llama_cpp.llama_encode(context, batch) != 0:
            raise RuntimeError(f"llama.cpp did not encode a text of {len(ids)} tokens")
        dims = llama_cpp.llama_model_n_embd(model)
        if llama_cpp.llama_pooling_type(context) == llama_cpp.LLAMA_POOLING_TYPE_NONE:
            rows = [llama_cpp.llama_get_embeddings_ith(context, i) for i in range(len(ids))]
            return np.stack([_unit(row, dims) for row in rows])
        return _unit(llama_cpp.llama_get_embeddings_seq(context, 0), dims)


def _unit(pointer: Any, dims: int) -> Floats:
    vector = np.ctypeslib.as_array(pointer, shape=(dims,)).astype(np.float64)
    unit: Floats = vector / np.linalg.norm(vector)
    return unit


@contextmanager
def _model(path: Path) -> Iterator[Any]:
    model = _load(path, llama_cpp.llama_model_default_params())
    try:
        yield model
    finally:
        llama_cpp.llama_model_free(model)


def _load(path: Path, options: Any) -> Any:
    llama_cpp.llama_log_set(_silent, ctypes.c_void_p(0))
    llama_cpp.llama_backend_init()
    model = llama_cpp.llama_model_load_from_file(str(path).encode(), options)
    if not model:
        raise RuntimeError(f"llama.cpp did not load {path}")
    return model


@contextmanager
def _context(model: Any, tokens: int) -> Iterator[Any]:
    options = llama_cpp.llama_context_default_params()
    options.n_ctx = options.n_batch = options.n_ubatch = max(tokens, 32)  # a text above n_ubatch aborts the process
    options.n_seq_max, options.embeddings = 1, True
    options.flash_attn_type = llama_cpp.LLAMA_FLASH_ATTN_TYPE_DISABLED
    options.n_threads = options.n_threads_batch = len(os.sched_getaffinity(0))
    context = llama_cpp.llama_init_from_model(model, options)
    if not context:
        raise RuntimeError(f"llama.cpp did not make a context of {tokens} tokens")
    try:
        yield context
    finally:
        llama_cpp.llama_free(context)


@contextmanager
def _batch(ids: Sequence[int]) -> Iterator[Any]:
    batch = llama_cpp.llama_batch_init(len(ids), 0, 1)
    batch.n_tokens = len(ids)
    for at, token in enumerate(ids):
        batch.token[at], batch.pos[at], batch.n_seq_id[at], batch.logits[at] = token, at, 1, True
        batch.seq_id[at][0] = 0
    try:
        yield batch
    finally:
        llama_cpp.llama_batch_free(batch)


def _ignore(level: int, text: bytes, data: ctypes.c_void_p) -> None:
    pass


_silent = llama_cpp.llama_log_callback(_ignore)
