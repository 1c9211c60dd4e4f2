"""A small GGUF model as data, with control over every byte: to write files that no writer would write."""

import struct
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64 = range(13)
FORMATS = "BbHhIif?  Qqd"  # struct's letter of each type
TYPE_F32, TYPE_F16, TYPE_Q8_0 = 0, 1, 8

HIDDEN, HEADS, FFN, POSITIONS = 32, 2, 64, 16
WORDPIECE = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "▁why", "▁sky", "▁blue", "s"]
UNIGRAM = ["<s>", "<pad>", "</s>", "<unk>", "▁", "▁why", "▁sky", "a", "b"]
Kind = Literal["wordpiece", "unigram"]


def number(kind: int, value: float) -> bytes:
    """A value of metadata: its type and its bytes."""
    return struct.pack("<i", kind) + plain(kind, value)


def plain(kind: int, value: float) -> bytes:
    """The bytes alone."""
    return struct.pack("<" + FORMATS[kind], value)


def counted(text: str | bytes) -> bytes:
    """A string as GGUF stores it."""
    raw = text.encode() if isinstance(text, str) else text
    return struct.pack("<Q", len(raw)) + raw


def string(text: str | bytes) -> bytes:
    """A string value."""
    return struct.pack("<i", STRING) + counted(text)


def array(kind: int, count: int, payload: bytes) -> bytes:
    """An array value that claims `count` elements."""
    return struct.pack("<iiQ", ARRAY, kind, count) + payload


def numbers(kind: int, values: list[float]) -> bytes:
    """An array of numbers."""
    return array(kind, len(values), b"".join(plain(kind, value) for value in values))


def strings(values: list[str]) -> bytes:
    """An array of strings."""
    return array(STRING, len(values), b"".join(map(counted, values)))


def octets(value: bytes) -> bytes:
    """An array of bytes."""
    return array(U8, len(value), value)


@dataclass
class Tensor:
    """What the file says of a tensor, and its bytes. `offset` None: where the data really lies."""

    name: str | bytes
    ne: list[int]  # fastest-varying first
    type: int
    data: bytes
    offset: int | None = None
    dims: int | None = None  # None: as many as `ne` has


@dataclass
class Gguf:
    """A file as data: change anything, then `bytes()` writes it as it stands."""

    keys: dict[str, bytes]
    tensors: list[Tensor]
    magic: bytes = b"GGUF"
    version: int = 3
    key_count: int | None = None  # None: the truth
    tensor_count: int | None = None
    more_keys: list[tuple[str | bytes, bytes]] = field(default_factory=list)

    def bytes(self) -> bytes:
        keys = [*self.keys.items(), *self.more_keys]
        out = self.magic + struct.pack("<I", self.version)
        out += struct.pack("<q", len(self.tensors) if self.tensor_count is None else self.tensor_count)
        out += struct.pack("<q", len(keys) if self.key_count is None else self.key_count)
        out += b"".join(counted(key) + value for key, value in keys)
        data = b""
        for tensor in self.tensors:
            out += _info(tensor, len(data))
            data += _padded(tensor.data)
        return _padded(out) + data

    def tensor(self, name: str) -> Tensor:
        """The tensor of this name."""
        return next(tensor for tensor in self.tensors if tensor.name == name)


def _info(tensor: Tensor, offset: int) -> bytes:
    dims = len(tensor.ne) if tensor.dims is None else tensor.dims
    place = offset if tensor.offset is None else tensor.offset
    shape = struct.pack(f"<{len(tensor.ne)}q", *tensor.ne)
    return counted(tensor.name) + struct.pack("<I", dims) + shape + struct.pack("<iQ", tensor.type, place)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 32)


def valid(kind: Kind, layers: int = 2) -> Gguf:
    """A small model that loads without a warning and gives different texts different vectors."""
    words = WORDPIECE if kind == "wordpiece" else UNIGRAM
    return Gguf(_keys(layers) | (_wordpiece() if kind == "wordpiece" else _unigram()), _tensors(layers, len(words)))


def _keys(layers: int) -> dict[str, bytes]:
    return {
        "general.architecture": string("bert"),
        "general.name": string("a small model"),
        "general.alignment": number(U32, 32),
        "general.file_type": number(U32, 1),
        "bert.block_count": number(U32, layers),
        "bert.context_length": number(U32, POSITIONS),
        "bert.embedding_length": number(U32, HIDDEN),
        "bert.feed_forward_length": number(U32, FFN),
        "bert.attention.head_count": number(U32, HEADS),
        "bert.attention.layer_norm_epsilon": number(F32, 1e-5),
        "bert.attention.causal": number(BOOL, False),
        "bert.pooling_type": number(U32, 1),
        "tokenizer.ggml.token_type_count": number(U32, 2),
    }


def _wordpiece() -> dict[str, bytes]:
    return {
        "tokenizer.ggml.model": string("bert"),
        "tokenizer.ggml.pre": string("default"),
        "tokenizer.ggml.tokens": strings(WORDPIECE),
        "tokenizer.ggml.token_type": numbers(I32, [3, 2, 3, 3, 1, 1, 1, 1]),
        **_ids(padding=0, unknown=1, bos=2, cls=2, seperator=3),
    }


def _unigram() -> dict[str, bytes]:
    return {
        "tokenizer.ggml.model": string("t5"),
        "tokenizer.ggml.tokens": strings(UNIGRAM),
        "tokenizer.ggml.scores": numbers(F32, [0, 0, 0, 0, -2, -3, -3.5, -4, -5]),
        "tokenizer.ggml.token_type": numbers(I32, [3, 3, 3, 2, 1, 1, 1, 1, 1]),
        "tokenizer.ggml.add_space_prefix": number(BOOL, True),
        "tokenizer.ggml.remove_extra_whitespaces": number(BOOL, True),
        "tokenizer.ggml.precompiled_charsmap": octets(charsmap(leaf=0)),
        "tokenizer.ggml.add_bos_token": number(BOOL, True),
        "tokenizer.ggml.add_eos_token": number(BOOL, True),
        **_ids(bos=0, padding=1, eos=2, seperator=2, unknown=3),
    }


def _ids(**roles: int) -> dict[str, bytes]:
    return {f"tokenizer.ggml.{role}_token_id": number(U32, index) for role, index in roles.items()}


def charsmap(leaf: int, offset: int = 1, end: bytes = b"w\0\xc3\0") -> bytes:
    """A map of "w" to itself: unit 0x77 is its node, whose value lies at 0x77 ^ `offset`."""
    units = [0] * 256
    units[0x77] = 0x77 | 1 << 8 | offset << 10
    units[0x76] = 0x8000_0000 | leaf
    return struct.pack("<257I", 1024, *units) + end


def _tensors(layers: int, words: int) -> list[Tensor]:
    out = [
        _matrix("token_embd.weight", HIDDEN, words, TYPE_F16, 1),
        _matrix("position_embd.weight", HIDDEN, POSITIONS, TYPE_F32, 0.3),
        _matrix("token_types.weight", HIDDEN, 2, TYPE_F32, 0.1),
        *_norm("token_embd_norm"),
    ]
    for layer in range(layers):
        prefix = f"blk.{layer}."
        for name in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_up", "ffn_down"):
            inputs, outputs = {"ffn_up": (HIDDEN, FFN), "ffn_down": (FFN, HIDDEN)}.get(name, (HIDDEN, HIDDEN))
            kind = TYPE_Q8_0 if name == "attn_output" else TYPE_F16
            out.append(_matrix(f"{prefix}{name}.weight", inputs, outputs, kind, 0.3))
            out.append(_vector(f"{prefix}{name}.bias", outputs, 0))
        out += [*_norm(f"{prefix}attn_output_norm"), *_norm(f"{prefix}layer_output_norm")]
    return out


def _norm(name: str) -> list[Tensor]:
    return [_vector(f"{name}.weight", HIDDEN, 1), _vector(f"{name}.bias", HIDDEN, 0)]


def _vector(name: str, size: int, mean: float) -> Tensor:
    return Tensor(name, [size], TYPE_F32, (mean + _noise(name, size, 0.1)).tobytes())


def _matrix(name: str, inputs: int, outputs: int, kind: int, scale: float) -> Tensor:
    values = _noise(name, inputs * outputs, scale)
    return Tensor(name, [inputs, outputs], kind, _stored(values, kind))


def _stored(values: "np.ndarray[tuple[int], np.dtype[np.float32]]", kind: int) -> bytes:
    if kind == TYPE_Q8_0:
        block = np.float16(0.01).tobytes() + bytes(range(32))
        return block * (values.size // 32)
    return values.astype(np.float16 if kind == TYPE_F16 else np.float32).tobytes()


def _noise(name: str, count: int, scale: float) -> "np.ndarray[tuple[int], np.dtype[np.float32]]":
    return (scale * np.random.default_rng(list(name.encode())).standard_normal(count)).astype(np.float32)
