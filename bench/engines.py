"""The engines that are timed: `prepare` takes token ids and says with which settings they will run, `run` runs them."""

import ctypes
import os
import time
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Texts = Sequence[Sequence[int]]
LONG = 1.0  # seconds


class Engine(Protocol):
    """What the worker needs of an engine."""

    def prepare(self, texts: Texts) -> str: ...
    def run(self) -> None: ...
    def vectors(self) -> NDArray[np.float32]: ...


class Bankml:
    """bankml as anybody gets it: best backend, default threads."""

    def __init__(self, path: str) -> None:
        from bankml.encoder import Encoder

        self._encoder = Encoder(path)
        self._texts: Texts = []
        self._vectors = np.empty((0, 0), np.float32)

    def prepare(self, texts: Texts) -> str:
        """Keeps the texts."""
        self._texts = texts
        return f"{self._encoder.backend}, {self._encoder.threads} threads"

    def run(self) -> None:
        """One call of encode_ids."""
        self._vectors = self._encoder.encode_ids(self._texts)

    def vectors(self) -> NDArray[np.float32]:
        """Unit vectors (texts, dims) of the last run."""
        return self._vectors


class LlamaCpp:
    """llama.cpp through llama-cpp-python: all cores, flash attention as it chooses, and the fastest split into passes.

    Its batches are filled in `prepare` and not timed. It can take one text a pass, or several at once whose tokens
    then also meet each other (masked); which is faster depends on the model, so each is tried.
    """

    PASS_TOKENS = (1, 512, 1 << 20)  # one text, llama.cpp's default n_ubatch, everything

    def __init__(self, path: str) -> None:
        import llama_cpp

        self._api: Any = llama_cpp
        self._silent = llama_cpp.llama_log_callback(lambda level, text, data: None)
        llama_cpp.llama_log_set(self._silent, ctypes.c_void_p(0))
        llama_cpp.llama_backend_init()
        self._model = llama_cpp.llama_model_load_from_file(path.encode(), llama_cpp.llama_model_default_params())
        if not self._model:
            raise RuntimeError(f"llama.cpp did not load {path}")
        self._context: Any = None
        self._batches: list[Any] = []

    def prepare(self, texts: Texts) -> str:
        """Tries every split once and keeps the fastest."""
        splits = {tuple(map(len, split)): split for limit in self.PASS_TOKENS if (split := _passes(texts, limit))}
        seconds = {sizes: self._seconds(split) for sizes, split in splits.items()}
        best = min(seconds, key=lambda sizes: seconds[sizes])
        self._seconds(splits[best])
        threads = len(os.sched_getaffinity(0))
        return f"{_most(best)} a pass, {threads} threads"

    def run(self) -> None:
        """Encodes all batches; the context keeps the vectors of the last one."""
        for batch in self._batches:
            if self._api.llama_encode(self._context, batch) != 0:
                raise RuntimeError(f"llama.cpp did not encode a pass of {batch.n_tokens} tokens")
            self._api.llama_get_embeddings(self._context)  # waits for the result

    def vectors(self) -> NDArray[np.float32]:
        """Unit vectors (texts, dims) of the last pass only."""
        dims = self._api.llama_model_n_embd(self._model)
        batch = self._batches[-1]
        count = 1 + max(batch.seq_id[i][0] for i in range(batch.n_tokens))
        rows = [self._api.llama_get_embeddings_seq(self._context, i) for i in range(count)]
        found = np.stack([np.ctypeslib.as_array(row, shape=(dims,)) for row in rows])
        unit: NDArray[np.float32] = found / np.linalg.norm(found, axis=1, keepdims=True)
        return unit

    def _seconds(self, split: list[list[Sequence[int]]]) -> float:
        self._release()
        tokens = max(sum(map(len, texts)) for texts in split)
        self._context = self._new_context(tokens, max(map(len, split)))
        self._batches = [self._new_batch(texts) for texts in split]
        return _warm_seconds(self.run)

    def _new_context(self, tokens: int, texts: int) -> Any:
        options = self._api.llama_context_default_params()
        room = (
            -(-max(tokens, 32) // texts) * texts
        )  # it aborts on less than the tokens, and on no multiple of the texts
        options.n_ctx = options.n_batch = options.n_ubatch = room
        options.n_seq_max, options.embeddings, options.kv_unified = texts, True, True
        options.n_threads = options.n_threads_batch = len(os.sched_getaffinity(0))
        context = self._api.llama_init_from_model(self._model, options)
        if not context:
            raise RuntimeError(f"llama.cpp did not make a context of {tokens} tokens")
        return context

    def _new_batch(self, texts: Sequence[Sequence[int]]) -> Any:
        batch = self._api.llama_batch_init(sum(map(len, texts)), 0, 1)
        at = 0
        for index, ids in enumerate(texts):
            for position, token in enumerate(ids):
                batch.token[at], batch.pos[at], batch.n_seq_id[at], batch.logits[at] = token, position, 1, True
                batch.seq_id[at][0] = index
                at += 1
        batch.n_tokens = at
        return batch

    def _release(self) -> None:
        for batch in self._batches:
            self._api.llama_batch_free(batch)
        if self._context is not None:
            self._api.llama_free(self._context)
        self._batches, self._context = [], None


class OnnxRuntime:
    """ONNX Runtime on the graph of onnx_graph.py: all cores; texts of equal length share a call, so nothing is padded.

    Whether one text a call, some or all of a length are fastest is tried, as for llama.cpp.
    """

    PASS_TOKENS = (1, 512, 1 << 20)
    int8 = False

    def __init__(self, path: str) -> None:
        import onnxruntime

        from bench import onnx_graph

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = len(os.sched_getaffinity(0))
        model = onnx_graph.cached(Path(path), self.int8)
        self._session: Any = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        self._calls: list[NDArray[np.int64]] = []
        self._last = np.empty((0, 0), np.float32)

    def prepare(self, texts: Texts) -> str:
        """Tries every split once and keeps the fastest."""
        splits = {tuple(map(len, split)): split for limit in self.PASS_TOKENS if (split := _equal(texts, limit))}
        seconds = {sizes: self._seconds(split) for sizes, split in splits.items()}
        best = min(seconds, key=lambda sizes: seconds[sizes])
        self._seconds(splits[best])
        return f"{_most(best)} a call, {len(os.sched_getaffinity(0))} threads"

    def run(self) -> None:
        """One call of the session for each group."""
        for ids in self._calls:
            self._last = self._session.run(None, {"ids": ids})[0]

    def vectors(self) -> NDArray[np.float32]:
        """Unit vectors (texts, dims) of the last call only."""
        unit: NDArray[np.float32] = self._last / np.linalg.norm(self._last, axis=1, keepdims=True)
        return unit

    def _seconds(self, split: list[list[Sequence[int]]]) -> float:
        self._calls = [np.array(texts, np.int64) for texts in split]
        return _warm_seconds(self.run)


class OnnxRuntimeInt8(OnnxRuntime):
    """The same with dynamic int8 products."""

    int8 = True


def _warm_seconds(run: Callable[[], None]) -> float:
    """Of the second run; of the first when it takes so long that warming up is nothing beside it."""
    for _ in range(2):
        start = time.perf_counter()
        run()
        if (seconds := time.perf_counter() - start) > LONG:
            break
    return seconds


def _equal(texts: Texts, limit: int) -> list[list[Sequence[int]]]:
    """Passes whose texts have one length each; the last text stays in the last pass, so that vectors() can find it."""
    last = len(texts[-1])
    order = sorted(texts, key=lambda ids: (len(ids) == last, len(ids)))
    return [split for _, group in groupby(order, key=len) for split in _passes(list(group), limit)]


def _most(sizes: Sequence[int]) -> str:
    return "1 text" if max(sizes) == 1 else f"{max(sizes)} texts"


def _passes(texts: Texts, limit: int) -> list[list[Sequence[int]]]:
    """The texts in order, gathered into passes of at most `limit` tokens (and at least one text)."""
    passes: list[list[Sequence[int]]] = [[]]
    for ids in texts:
        if passes[-1] and sum(map(len, passes[-1])) + len(ids) > limit:
            passes.append([])
        passes[-1].append(ids)
    return passes


ENGINES: dict[str, type[Bankml] | type[LlamaCpp] | type[OnnxRuntime]] = {
    "bankml": Bankml,
    "llama.cpp": LlamaCpp,
    "ONNX Runtime f32": OnnxRuntime,
    "ONNX Runtime int8": OnnxRuntimeInt8,
}
PEERS = [name for name in ENGINES if name != "bankml"]
