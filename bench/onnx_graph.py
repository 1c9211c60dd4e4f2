"""The `bert` graph of a GGUF file as an ONNX model. Its weights lie beside it in one file that engines map.

Three kinds: "f32" and dynamic "int8" with ONNX Runtime's own fused operators, and "plain", f32 in ONNX's own operators
alone, for engines that do not know those. No other framework takes part.
"""

from collections.abc import Sequence
from itertools import starmap
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, helper, save_model

from bankml.models import atomic
from bankml.models.digest import sha256
from oracle import cache
from oracle.reference import POOLINGS

Kind = Literal["f32", "int8", "plain"]
CONTRIB = "com.microsoft"
OPSET = 17
WEIGHTS = "weights.bin"
SMALL = 4096  # bytes


def cached(path: Path, kind: Kind) -> Path:
    """The ONNX model of a GGUF file, made once and kept beside what the oracle keeps."""
    recipe = f"{sha256(path)[:16]}-{kind}"
    folder = cache.folder() / "onnx" / recipe
    with atomic.lock(cache.folder() / f".onnx-{recipe}.lock"):
        if not folder.is_dir():
            with TemporaryDirectory(dir=cache.folder()) as staging:
                write(path, Path(staging) / recipe, kind)
                folder.parent.mkdir(exist_ok=True)
                (Path(staging) / recipe).replace(folder)
    return folder / "model.onnx"


def write(path: Path, folder: Path, kind: Kind) -> Path:
    """Writes `model.onnx` and its weights into `folder`, and returns the model's path.

    Its input `ids` is int64 (texts, tokens), texts of equal length; its output `vectors` f32 (texts, hidden), pooled,
    not normalised. "int8": weights per output channel, activations per tensor and call, as ONNX Runtime's
    quantize_dynamic does it.
    """
    from gguf import GGUFReader

    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / WEIGHTS, "wb") as weights:
        graph = _Graph(GGUFReader(path), weights, kind)
        graph.build()
    target = folder / "model.onnx"
    save_model(graph.model(), target)
    return target


class _Graph:
    """Nodes and initializers, in the order they were added. Names of values are those of what made them."""

    def __init__(self, reader: Any, weights: Any, kind: Kind) -> None:
        self._tensors = {tensor.name: tensor for tensor in reader.tensors}
        field = lambda key: reader.fields[f"bert.{key}"].contents()  # noqa: E731
        self._layers, self._heads = int(field("block_count")), int(field("attention.head_count"))
        self._hidden, self._epsilon = int(field("embedding_length")), float(field("attention.layer_norm_epsilon"))
        self._pooling = POOLINGS[int(field("pooling_type"))]
        self._file, self._kind = weights, kind
        self._nodes: list[Any] = []
        self._initializers: list[Any] = []

    def model(self) -> Any:
        """The ModelProto."""
        ids = helper.make_tensor_value_info("ids", TensorProto.INT64, ["texts", "tokens"])
        vectors = helper.make_tensor_value_info("vectors", TensorProto.FLOAT, ["texts", self._hidden])
        graph = helper.make_graph(self._nodes, "bert", [ids], [vectors], self._initializers)
        opsets = [("", OPSET), *([] if self._kind == "plain" else [(CONTRIB, 1)])]
        return helper.make_model(graph, opset_imports=list(starmap(helper.make_opsetid, opsets)), ir_version=9)

    def build(self) -> None:
        """The whole graph; activations are (texts · tokens, hidden) outside attention."""
        x = self._embedded()
        for layer in range(self._layers):
            x = self._layer(x, f"blk.{layer}")
        self._pool(self._node("Reshape", [x, "shape"], name="states"))

    def _embedded(self) -> str:
        tokens = self._node("Gather", [self._table("token_embd.weight"), "ids"])
        tokens = self._node("Cast", [tokens], to=TensorProto.FLOAT)
        shape = self._node("Shape", [tokens], name="shape")
        length = self._node("Slice", [shape, self._ints("one", [1]), self._ints("two", [2])])
        span = [self._ints("zero", [0]), length, self._ints("first_axis", [0])]
        positions = self._node("Slice", [self._weight("position_embd.weight"), *span])
        x = self._node("Add", [self._node("Add", [tokens, positions]), self._row("token_types.weight")])
        x = self._node("Reshape", [x, self._ints("flat", [-1, self._hidden])])
        return self._norm(x, "token_embd_norm")

    def _layer(self, x: str, name: str) -> str:
        parts = [f"{name}.attn_{part}" for part in "qkv"]
        qkv = self._product(x, f"{name}.qkv", *(self._stacked(parts, kind) for kind in ("weight", "bias")))
        qkv = self._node("Reshape", [qkv, self._wide()])
        q, k, v = (f"{name}.{part}" for part in "qkv")
        self._nodes.append(helper.make_node("Split", [qkv], [q, k, v], axis=2))
        attended = self._node("Reshape", [self._attended(q, k, v), "flat"])
        y = self._residual_norm(self._linear(attended, f"{name}.attn_output"), x, f"{name}.attn_output_norm")
        up = self._gelu(self._linear(y, f"{name}.ffn_up"))
        return self._residual_norm(self._linear(up, f"{name}.ffn_down"), y, f"{name}.layer_output_norm")

    def _pool(self, states: str) -> None:
        if self._pooling == "mean":
            self._node("ReduceMean", [states], name="vectors", axes=[1], keepdims=0)
        else:
            index = {"cls": 0, "last": -1}[self._pooling]
            self._node("Gather", [states, self._constant("row", np.array(index))], name="vectors", axis=1)

    def _linear(self, x: str, name: str) -> str:
        return self._product(x, name, self._floats(f"{name}.weight"), self._floats(f"{name}.bias"))

    def _product(self, x: str, name: str, weight: NDArray[np.float32], bias: NDArray[np.float32]) -> str:
        """x Wᵀ + b; the weight is (outputs, inputs)."""
        b = self._constant(f"{name}.bias", bias)
        if self._kind != "int8":
            return self._node("Gemm", [x, self._constant(f"{name}.weight", weight), b], transB=1)
        scale = np.abs(weight).max(axis=1) / 127  # per output
        values = np.rint(weight / np.where(scale, scale, 1)[:, None]).astype(np.int8)
        w = self._constant(f"{name}.weight", np.ascontiguousarray(values.T))
        zeros = self._constant(f"{name}.zeros", np.zeros(len(scale), np.int8))
        scales = self._constant(f"{name}.scales", scale.astype(np.float32))
        return self._node("DynamicQuantizeMatMul", [x, w, scales, zeros, b], domain=CONTRIB)

    def _norm(self, x: str, name: str) -> str:
        return self._node("LayerNormalization", [x, *self._affine(name)], epsilon=self._epsilon)

    def _attended(self, q: str, k: str, v: str) -> str:
        """softmax(q kᵀ/√d) v, from and to (texts, tokens, hidden)."""
        if self._kind != "plain":
            return self._node("MultiHeadAttention", [q, k, v], domain=CONTRIB, num_heads=self._heads)
        dims = self._hidden // self._heads
        shape = self._ints("by_head", [0, 0, self._heads, dims])
        split = [self._node("Reshape", [x, shape]) for x in (q, k, v)]
        orders = [(0, 2, 1, 3), (0, 2, 3, 1), (0, 2, 1, 3)]
        rows, columns, values = (
            self._node("Transpose", [x], perm=order) for x, order in zip(split, orders, strict=True)
        )
        scale = self._constant("scale", np.array(dims**-0.5, np.float32))
        scores = self._node("Mul", [self._node("MatMul", [rows, columns]), scale])
        mixed = self._node("MatMul", [self._node("Softmax", [scores], axis=-1), values])
        return self._node("Transpose", [mixed], perm=(0, 2, 1, 3))

    def _gelu(self, x: str) -> str:
        if self._kind != "plain":
            return self._node("Gelu", [x], domain=CONTRIB)
        root, one, half = (
            self._constant(name, np.array(value, np.float32))
            for name, value in (("root_2", 2**0.5), ("one_f32", 1), ("half", 0.5))
        )
        share = self._node("Add", [self._node("Erf", [self._node("Div", [x, root])]), one])
        return self._node("Mul", [self._node("Mul", [x, share]), half])

    def _residual_norm(self, x: str, residual: str, name: str) -> str:
        if self._kind == "plain":
            return self._norm(self._node("Add", [x, residual]), name)
        inputs = [x, residual, *self._affine(name)]
        return self._node("SkipLayerNormalization", inputs, domain=CONTRIB, epsilon=self._epsilon)

    def _affine(self, name: str) -> list[str]:
        return [self._weight(f"{name}.weight"), self._weight(f"{name}.bias")]

    def _wide(self) -> str:
        """The shape (texts, tokens, 3 · hidden)."""
        if not any(node.output[0] == "wide" for node in self._nodes):
            ends = [self._ints("start", [0]), self._ints("end", [2])]
            texts = self._node("Slice", ["shape", *ends])
            self._node("Concat", [texts, self._ints("3_hidden", [3 * self._hidden])], name="wide", axis=0)
        return "wide"

    def _node(self, kind: str, inputs: Sequence[str], name: str = "", domain: str = "", **attributes: Any) -> str:
        output = name or f"{kind}_{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, inputs, [output], domain=domain, **attributes))
        return output

    def _ints(self, name: str, values: list[int]) -> str:
        return self._constant(name, np.array(values, np.int64))

    def _weight(self, name: str) -> str:
        return self._constant(name, self._floats(name))

    def _row(self, name: str) -> str:
        return self._constant(name, self._floats(name).reshape(-1, self._hidden)[0])

    def _table(self, name: str) -> str:
        """Token rows as f16: read only by row, so their type costs no time, and half the memory."""
        return self._constant(name, self._floats(name).astype(np.float16))

    def _stacked(self, names: Sequence[str], kind: str) -> NDArray[np.float32]:
        return np.concatenate([self._floats(f"{name}.{kind}") for name in names])

    def _floats(self, name: str) -> NDArray[np.float32]:
        from gguf.quants import dequantize

        tensor = self._tensors[name]
        return np.asarray(dequantize(tensor.data, tensor.tensor_type), np.float32)

    def _constant(self, name: str, values: NDArray[Any]) -> str:
        """An initializer: small ones inside the model, the others in the file of weights, at a multiple of 64.

        A name that is there already has the same values.
        """
        if any(tensor.name == name for tensor in self._initializers):
            return name
        kind = helper.np_dtype_to_tensor_dtype(values.dtype)
        tensor = TensorProto(name=name, data_type=kind, dims=values.shape)
        if values.nbytes < SMALL:
            tensor.raw_data = values.tobytes()
        else:
            self._outside(tensor, values)
        self._initializers.append(tensor)
        return name

    def _outside(self, tensor: TensorProto, values: NDArray[Any]) -> None:
        self._file.write(bytes(-self._file.tell() % 64))
        place = {"location": WEIGHTS, "offset": str(self._file.tell()), "length": str(values.nbytes)}
        self._file.write(values.tobytes())
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in place.items():
            tensor.external_data.add(key=key, value=value)
