"""Small models that the fuzzer of files begins with. `python -m tests.fuzz.seeds` writes them into the corpus."""

import base64
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.raw_gguf import FFN, HIDDEN, TYPE_F32, TYPE_Q8_0, U32, Gguf, Kind, Tensor, charsmap, number, strings, valid

FOLDER = Path(__file__).parent / "corpus" / "gguf"
TYPE_Q4_K, VALUES = 12, 256
MATRICES = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_up", "ffn_down")
QKV = tuple(f"blk.0.attn_{part}." for part in "qkv")
SCALE = np.float16(0.01).tobytes()


def seeds() -> dict[str, bytes]:
    """Bytes by file name."""
    makers: tuple[Callable[[], Gguf], ...] = (q8_0, q4_k, fused, base64_charsmap)
    return {f"{make.__name__}.seed": make().bytes() for make in makers}


def q8_0() -> Gguf:
    """Every matrix in Q8_0."""
    return _in_q8_0("wordpiece")


def q4_k() -> Gguf:
    """One matrix in Q4_K, whose rows of 256 are the FFN's: a hidden size of 256 would take 90 KB."""
    model = q8_0()
    model.keys["bert.feed_forward_length"] = number(U32, VALUES)
    up, bias, down = (model.tensor(f"blk.0.{name}") for name in ("ffn_up.weight", "ffn_up.bias", "ffn_down.weight"))
    up.ne, up.data = [HIDDEN, VALUES], up.data * (VALUES // FFN)
    bias.ne, bias.data = [VALUES], bias.data * (VALUES // FFN)
    block = SCALE + bytes(2) + bytes(range(12)) + bytes(range(128))  # d, dmin, scales, nibbles
    down.ne, down.type, down.data = [VALUES, HIDDEN], TYPE_Q4_K, block * HIDDEN
    return model


def fused() -> Gguf:
    """The three weights of attention in one, as some converters write them."""
    model = valid("wordpiece", layers=1)
    parts = [model.tensor(f"{part}weight") for part in QKV]
    model.tensors = [tensor for tensor in model.tensors if not str(tensor.name).startswith(QKV)]
    weights, biases = b"".join(part.data for part in parts), bytes(4 * 3 * HIDDEN)
    model.tensors.append(Tensor("blk.0.attn_qkv.weight", [HIDDEN, 3 * HIDDEN], parts[0].type, weights))
    model.tensors.append(Tensor("blk.0.attn_qkv.bias", [3 * HIDDEN], TYPE_F32, biases))
    return model


def base64_charsmap() -> Gguf:
    """Unigram with its character map as an array of base64 characters."""
    model = _in_q8_0("unigram")
    characters = base64.b64encode(charsmap(leaf=0)).decode()
    model.keys["tokenizer.ggml.precompiled_charsmap"] = strings(list(characters))
    return model


def _in_q8_0(kind: Kind) -> Gguf:
    model = valid(kind, layers=1)
    for name in ("token_embd", *(f"blk.0.{matrix}" for matrix in MATRICES)):
        _to_q8_0(model.tensor(f"{name}.weight"))
    return model


def _to_q8_0(tensor: Tensor) -> None:
    rows = tensor.ne[0] * tensor.ne[1] // 32
    turns = (bytes((32 * row + i) * 37 % 251 for i in range(32)) for row in range(rows))
    tensor.type, tensor.data = TYPE_Q8_0, b"".join(SCALE + turn for turn in turns)


if __name__ == "__main__":
    for name, content in seeds().items():
        (FOLDER / name).write_bytes(content)
