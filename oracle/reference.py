"""The `bert` graph in float64, as plainly as numpy allows: what the engine's vectors are measured against.

Weights are those of the file, dequantised by gguf-py; nothing here is shared with the engine. Faults can be planted by
name, to see that a comparison catches them.
"""

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from oracle.erf import erf

Floats = NDArray[np.float64]
Fault = Literal[
    "position + 1", "no type row", "tanh for erf", "Q and K swapped", "a neighbour attended", "last token dropped"
]
FAULTS: tuple[Fault, ...] = get_args(Fault)
POOLINGS = ("none", "mean", "cls", "last")  # by their number in GGUF
ROWS = 1024  # rows at a time in attention and FFN: 8,192 tokens need 64 MB a head instead of 512 MB


class Reference:
    """One model. `fault` makes it wrong on purpose."""

    def __init__(self, path: Path, gelu: Literal["erf", "tanh"] = "erf", fault: Fault | None = None) -> None:
        from gguf import GGUFReader

        reader = GGUFReader(path)
        self._tensors = {tensor.name: tensor for tensor in reader.tensors}
        field: Callable[[str], Any] = lambda key: reader.fields[f"bert.{key}"].contents()  # noqa: E731
        self.layers, self.heads = int(field("block_count")), int(field("attention.head_count"))
        self.positions = int(field("context_length"))
        self.epsilon = float(field("attention.layer_norm_epsilon"))
        self.pooling = POOLINGS[int(field("pooling_type"))]
        self.fault = fault
        self.activation = gelu_tanh if gelu == "tanh" or fault == "tanh for erf" else gelu_erf

    def encode_ids(self, texts: Sequence[Sequence[int]], normalize: bool = True) -> list[Floats]:
        """A pooled vector (dims,) for each text, or (tokens, dims) when the model does not pool; unit length.

        Every layer's weights are widened once for all texts. Texts do not see each other, unless that fault is planted.
        """
        if self.fault == "last token dropped":
            texts = [ids[:-1] for ids in texts]
        ends = np.cumsum([len(ids) for ids in texts])
        spans = [slice(int(end) - len(ids), int(end)) for ids, end in zip(texts, ends, strict=True)]
        x = np.concatenate([self._embedded(np.asarray(ids)) for ids in texts])  # (all tokens, hidden)
        for layer in range(self.layers):
            x = self._layer(x, f"blk.{layer}", spans)
        return [self._pooled(x[span], normalize) for span in spans]

    def _embedded(self, ids: NDArray[np.intp]) -> Floats:
        first = 1 if self.fault == "position + 1" else 0
        x = self.rows("token_embd.weight", ids)
        x = x + self.rows("position_embd.weight", np.arange(first, first + len(ids)))
        if self.fault != "no type row":
            x = x + self.rows("token_types.weight", np.array([0]))
        return self._norm(x, "token_embd_norm")

    def _layer(self, x: Floats, name: str, spans: Sequence[slice]) -> Floats:
        attended = self._linear(self._attention(x, name, spans), f"{name}.attn_output")
        y = self._norm(attended + x, f"{name}.attn_output_norm")
        up, down = self.weights(f"{name}.ffn_up"), self.weights(f"{name}.ffn_down")
        for rows in _blocks(len(y)):
            f = affine(self.activation(affine(y[rows], *up)), *down)
            x[rows] = self._norm(f + y[rows], f"{name}.layer_output_norm")
        return x

    def _attention(self, x: Floats, name: str, spans: Sequence[slice]) -> Floats:
        names = ("attn_k", "attn_q", "attn_v") if self.fault == "Q and K swapped" else ("attn_q", "attn_k", "attn_v")
        q, k, v = (self._linear(x, f"{name}.{part}") for part in names)
        out = np.empty_like(x)
        size = x.shape[1] // self.heads

        def one_head(head: int) -> None:
            columns = slice(head * size, (head + 1) * size)
            for span, keys in zip(spans, self._keys(spans), strict=True):
                out[span, columns] = attention(q[span, columns], k[keys, columns], v[keys, columns])

        with ThreadPoolExecutor(2) as pool:
            list(pool.map(one_head, range(self.heads)))
        return out

    def _keys(self, spans: Sequence[slice]) -> list[NDArray[np.intp]]:
        keys = [np.arange(span.start, span.stop) for span in spans]
        if self.fault == "a neighbour attended":
            return [np.append(own, spans[(at + 1) % len(spans)].start) for at, own in enumerate(keys)]
        return keys

    def _pooled(self, x: Floats, normalize: bool) -> Floats:
        pooled: Floats = {"none": x, "mean": x.mean(axis=0), "cls": x[0], "last": x[-1]}[self.pooling]
        return pooled / np.linalg.norm(pooled, axis=-1, keepdims=True) if normalize else pooled

    def _linear(self, x: Floats, name: str) -> Floats:
        return affine(x, *self.weights(name))

    def _norm(self, x: Floats, name: str) -> Floats:
        return layer_norm(x, *self.weights(name), self.epsilon)

    def weights(self, name: str) -> tuple[Floats, Floats]:
        """A module's weight and bias, widened."""
        return self._tensor(f"{name}.weight"), self._tensor(f"{name}.bias")

    def _tensor(self, name: str) -> Floats:
        return _widened(self._tensors[name], self._tensors[name].data)

    def rows(self, name: str, rows: NDArray[np.intp]) -> Floats:
        """Some rows of a table, widened."""
        tensor = self._tensors[name]
        table = tensor.data.reshape(-1, tensor.data.shape[-1])
        return _widened(tensor, table[rows])


def _widened(tensor: Any, stored: NDArray[Any]) -> Floats:
    from gguf.quants import dequantize

    return np.asarray(dequantize(stored, tensor.tensor_type), dtype=np.float64)


def _blocks(rows: int) -> list[slice]:
    return [slice(start, min(start + ROWS, rows)) for start in range(0, rows, ROWS)]


def affine(x: Floats, weight: Floats, bias: Floats) -> Floats:
    """x Wᵀ + b, for x (rows, inputs) and W (outputs, inputs)."""
    y: Floats = x @ weight.T + bias
    return y


def layer_norm(x: Floats, weight: Floats, bias: Floats, epsilon: float) -> Floats:
    """Each row less its mean, over the root of its mean square plus epsilon; then scaled and shifted."""
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = (centred * centred).mean(axis=-1, keepdims=True)
    normed: Floats = centred / np.sqrt(variance + epsilon) * weight + bias
    return normed


def attention(q: Floats, k: Floats, v: Floats) -> Floats:
    """softmax(q kᵀ / √d) v of one head: q (rows, d), k and v (keys, d)."""
    return np.concatenate([_attend(q[rows] / math.sqrt(q.shape[1]), k, v) for rows in _blocks(len(q))])


def _attend(q: Floats, k: Floats, v: Floats) -> Floats:
    scores = q @ k.T
    scores -= scores.max(axis=-1, keepdims=True)
    weights = np.exp(scores, out=scores)
    attended: Floats = weights @ v / weights.sum(axis=-1, keepdims=True)
    return attended


def gelu_erf(x: Floats) -> Floats:
    """GELU as the models were trained: x times the normal distribution's share below x."""
    return 0.5 * x * (1 + erf(x / math.sqrt(2)))


def gelu_tanh(x: Floats) -> Floats:
    """GELU as llama.cpp computes it."""
    y: Floats = 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return y
