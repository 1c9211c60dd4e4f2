"""The table of hostile files: a sound small model with one thing wrong, and what the error must say of it."""

import math
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.raw_gguf import (
    ARRAY,
    BOOL,
    F32,
    F64,
    FFN,
    HIDDEN,
    I8,
    I16,
    I32,
    I64,
    STRING,
    TYPE_F32,
    U8,
    U16,
    U32,
    U64,
    UNIGRAM,
    WORDPIECE,
    Gguf,
    Kind,
    Tensor,
    array,
    charsmap,
    counted,
    number,
    numbers,
    octets,
    string,
    strings,
    valid,
)

TEXT = "why sky"  # what is encoded after loading; faults that wait for a text lie in its way
NAN, INF = b"\x00\x7e", b"\x00\xfc"  # as F16
TOKENS, CHARSMAP = "tokenizer.ggml.tokens", "tokenizer.ggml.precompiled_charsmap"
ARCHITECTURES = """nomic-bert nomic-bert-moe jina-bert-v2 jina-bert-v3 modern-bert neo-bert eurobert gemma-embedding
    llama qwen3 t5 t5encoder BERT""".split()

Change = Callable[[Gguf], object]


@dataclass(frozen=True)
class Case:
    """One fault. The error must hold every one of `words`: the key or tensor, and its value or count.

    `waits` for a text that leads there: only encoding one finds it.
    """

    name: str
    kind: Kind
    make: Callable[[Gguf], bytes]
    words: tuple[str, ...]
    waits: bool = False

    def bytes(self) -> bytes:
        """The file."""
        return self.make(valid(self.kind))


def cases() -> list[Case]:
    """All of them."""
    parts = (_cuts, _container, _values, _tensor_infos, _numbers, _shapes, _weights, _tensor_set, _vocabularies)
    return [case for part in (*parts, _specials, _charsmaps) for case in part()]


def _case(name: str, change: Change, *words: str, kind: Kind = "wordpiece", waits: bool = False) -> Case:
    """A fault made by changing the model in place."""

    def make(model: Gguf) -> bytes:
        change(model)
        return model.bytes()

    return Case(name, kind, make, words, waits)


def _key(key: str, value: bytes, *words: str, kind: Kind = "wordpiece") -> Case:
    """A key of another value, which the error must name."""
    return _case(f"{key} {' '.join(words)}", lambda model: model.keys.update({key: value}), key, *words, kind=kind)


def _tensor(tensor: str, *words: str, **changes: object) -> Case:
    """A tensor that is told of differently, which the error must name."""

    def change(model: Gguf) -> None:
        for attribute, value in changes.items():
            setattr(model.tensor(tensor), attribute, value)

    return _case(f"{tensor} {' '.join(words)}", change, tensor, *words)


def _cuts() -> Iterator[Case]:
    size = len(valid("wordpiece").bytes())
    places = [
        *map(int, "0 3 4 23 24 31 40 100 200 700 1000 1300 1700 2200 2600 3000 3500".split()),
        size // 2,
        size - 33,
    ]
    for part in places:
        yield Case(
            f"cut to {part} of {size} bytes", "wordpiece", lambda model, part=part: model.bytes()[:part], ("byte",)
        )


def _container() -> Iterator[Case]:
    yield _case("a Zip file", lambda m: setattr(m, "magic", b"PK\3\4"), "letters GGUF")
    yield _case("big-endian", lambda m: setattr(m, "version", 3 << 24), "other byte order", str(3 << 24))
    for version in (0, 1, 4):
        yield _case(f"version {version}", lambda m, v=version: setattr(m, "version", v), "version", str(version))
    for count in (1 << 60, -1, -(1 << 63)):
        yield _case(f"claims {count} keys", lambda m, c=count: setattr(m, "key_count", c), f"{count} keys")
        yield _case(f"claims {count} tensors", lambda m, c=count: setattr(m, "tensor_count", c), f"{count} tensors")
    header = b"GGUF" + struct.pack("<Iqq", 3, 0, 1 << 60) + bytes(19)
    yield Case("43 bytes that claim 2^60 keys", "wordpiece", lambda model: header, (f"{1 << 60} keys",))
    yield _case("one key too many", lambda m: setattr(m, "key_count", len(m.keys) + 1), "a tensor name")
    yield _case("one tensor too many", lambda m: setattr(m, "tensor_count", len(m.tensors) + 1), "tensor")
    yield _case("an empty key", lambda m: m.more_keys.append(("", number(U8, 1))), "key", "empty")
    twice = ("bert.block_count", number(U32, 2))
    yield _case("a key twice", lambda m: m.more_keys.append(twice), "bert.block_count", "twice")
    yield Case("a key of 2^60 bytes", "wordpiece", _key_of_2_60_bytes, ("key", str(1 << 60)))
    for value in (0, 3, 1 << 31):
        yield _key("general.alignment", number(U32, value), str(value))
    yield _key("general.alignment", number(U64, 32), "u64")
    wider = {"general.alignment": number(U32, 4096)}
    yield _case("offsets of another alignment", lambda m: m.keys.update(wider), "tensor position_embd.weight", "4096")
    yield _key("split.count", number(U16, 2), "2")


def _key_of_2_60_bytes(model: Gguf) -> bytes:
    whole = model.bytes()
    return whole[:24] + struct.pack("<Q", 1 << 60) + whole[24:]


def _values() -> Iterator[Case]:
    name = "general.name"
    for kind in (13, -1, 1 << 30):
        yield _key(name, struct.pack("<i", kind) + bytes(8), str(kind))
    yield _key("bert.attention.causal", struct.pack("<iB", BOOL, 2), "2")
    for length in (1 << 29, 1 << 60, (1 << 64) - 1):
        yield _key(name, struct.pack("<iQ", STRING, length), str(length))
        yield _key(TOKENS, array(STRING, 1, struct.pack("<Q", length)), str(length))
    yield _key(name, array(ARRAY, 1, array(U8, 1, b"a")), "array of arrays")
    yield _key(name, array(99, 1, b"a"), "99")
    for kind, count in ((STRING, 1 << 40), (STRING, 1 << 62), (U8, 1 << 31), (F64, 1 << 61), (U64, (1 << 64) - 1)):
        yield _key(TOKENS, array(kind, count, b""), str(count))
    yield _key("general.architecture", number(U32, 1), "u32", "a string")
    yield _key(name, number(U32, 1), "u32", "a string")
    yield _key("tokenizer.ggml.model", array(STRING, 0, b""), "an array of string")
    yield _key("bert.block_count", string("2"), "a string")
    yield _key("bert.block_count", numbers(U32, [2, 2]), "an array of u32")
    yield _key("bert.embedding_length", number(F32, 32), "f32")
    yield _key("bert.attention.layer_norm_epsilon", number(U32, 1), "u32")
    yield _key("bert.attention.causal", number(U8, 0), "u8")
    yield _key("bert.pooling_type", string("mean"), "a string")


def _name_of_2_60_bytes(model: Gguf) -> bytes:
    whole, name = model.bytes(), counted(model.tensors[0].name)
    return whole.replace(name, struct.pack("<Q", 1 << 60) + name[8:], 1)


def _tensor_infos() -> Iterator[Case]:
    name, size = "blk.0.attn_q.weight", 2 * HIDDEN * HIDDEN
    yield _case("a tensor twice", lambda m: m.tensors.append(m.tensor(name)), name, "twice")
    yield _case("a tensor without a name", lambda m: setattr(m.tensor(name), "name", ""), "tensor", "0 bytes")
    yield _case("a name of 64 bytes", lambda m: setattr(m.tensor(name), "name", "n" * 64), "tensor", "64 bytes")
    yield Case("a name of 2^60 bytes", "wordpiece", _name_of_2_60_bytes, ("tensor", str(1 << 60)))
    for dims in (0, 5, 1 << 31):
        yield _tensor(name, str(dims), ne=[HIDDEN, HIDDEN, 1, 1, 1][:dims] if dims < 6 else [1], dims=dims)
    for ne in ([-1, 4], [HIDDEN, -HIDDEN], [0, 4], [HIDDEN, 0]):
        yield _tensor(name, str(min(ne)), ne=ne)
    for ne in ([1 << 31, 1 << 31, 4], [(1 << 63) - 1], [1 << 62, 2]):
        yield _tensor(name, str(ne), "more", ne=ne)
    yield _tensor(name, str(1 << 60), ne=[1 << 59])
    for kind in (4, 5, 31, 32, 33, 36, 37, 38, 43, 1000, -1, (1 << 31) - 1):
        yield _tensor(name, f"type id {kind}", type=kind)
    yield _tensor("blk.0.attn_output.weight", "[33, 32]", "32", ne=[33, HIDDEN])
    for offset in (0, 1, 1 << 40, (1 << 64) - 32, (1 << 64) - 1):
        yield _tensor(name, str(offset), offset=offset)
    yield _tensor("token_embd.weight", "offset 32", offset=32)
    last = "blk.1.layer_output_norm.bias"
    yield _tensor(last, str(4 * size), "beyond", ne=[size])
    yield _case("tensors in another order", lambda m: _swap_offsets(m, name, "blk.0.attn_k.weight"), name, "offset")


def _swap_offsets(model: Gguf, one: str, other: str) -> None:
    offsets, at = {}, 0
    for tensor in model.tensors:
        offsets[tensor.name] = at
        at += -(-len(tensor.data) // 32) * 32
    model.tensor(one).offset, model.tensor(other).offset = offsets[other], offsets[one]


def _numbers() -> Iterator[Case]:
    required = "block_count context_length embedding_length feed_forward_length attention.head_count".split()
    for name in (*required, "attention.layer_norm_epsilon"):
        yield _missing(f"bert.{name}")
    for name in required:
        yield _key(f"bert.{name}", number(U32, 0), "is 0")
        yield _key(f"bert.{name}", number(I32, -1), "is -1")
    for value in (513, 1 << 31):
        yield _key("bert.block_count", number(U32, value), str(value))
    yield _key("bert.block_count", number(U64, (1 << 64) - 1), str((1 << 64) - 1))
    for name in ("embedding_length", "feed_forward_length", "attention.head_count"):
        yield _key(f"bert.{name}", number(I64, 1 << 62), str(1 << 62))
    yield _key("bert.attention.head_count", number(U8, 5), "is 5", "32")
    yield _key("bert.context_length", number(I16, 1), "is 1")
    for kind, value in ((F32, 0.0), (F32, -1.0), (F64, math.inf), (F64, math.nan), (F32, math.nan), (F64, 1e-60)):
        shown = f"{value:g}"
        yield _key("bert.attention.layer_norm_epsilon", number(kind, value), shown)
    yield _key("bert.attention.causal", number(BOOL, True), "true")
    for value in (4, 99):
        yield _key("bert.pooling_type", number(U32, value), str(value))
    yield _key("bert.pooling_type", number(I8, -1), "-1")
    for value in (0, 1, 3):
        yield _key("tokenizer.ggml.token_type_count", number(U32, value), str(value), "2 rows")
    yield _missing("general.architecture")
    for name in ARCHITECTURES:
        yield _key("general.architecture", string(name), f"'{name}'", "'bert'")
    yield _key("general.architecture", string(b"\xff\x1b[31m" * 1000), "'\ufffd\ufffd[31m")


def _missing(key: str, kind: Kind = "wordpiece") -> Case:
    return _case(f"no {key}", lambda model: model.keys.pop(key), key, kind=kind)


def _shapes() -> Iterator[Case]:
    for name in ("token_embd.weight", "blk.1.ffn_down.weight", "blk.0.ffn_up.weight"):
        yield _case(f"{name} turned", lambda m, n=name: m.tensor(n).ne.reverse(), name, "shape", "due")
    for name in ("token_embd_norm.weight", "blk.0.attn_v.bias", "blk.1.layer_output_norm.bias", "token_types.weight"):
        yield _case(f"{name} is short", lambda m, n=name: _shorten(m.tensor(n), HIDDEN // 2), name, "[16", "[32")
    for name in ("blk.0.attn_output_norm.weight", "blk.1.ffn_up.bias"):
        yield _case(f"{name} twice as high", lambda m, n=name: _double(m.tensor(n)), name, ", 2]")
    yield _case(
        "an ffn of another width",
        lambda m: m.keys.update({"bert.feed_forward_length": number(U32, 32)}),
        "ffn_up.weight",
        "[32, 64]",
    )
    wider = {"bert.embedding_length": number(U32, 64)}
    yield _case(
        "a hidden size of another width", lambda m: m.keys.update(wider), "token_embd.weight", "[32, 8]", "[64, 8]"
    )
    yield _case(
        "one position", lambda m: _cut_rows(m.tensor("position_embd.weight"), 1), "position_embd.weight", "1 row"
    )
    yield _case(
        "positions of another width",
        lambda m: _shorten(m.tensor("position_embd.weight"), 31),
        "position_embd.weight",
        "31",
    )
    yield _case(
        "fewer rows than words", lambda m: _cut_rows(m.tensor("token_embd.weight"), 7), "token_embd.weight", "7", "8"
    )
    yield _case(
        "three quarters of a fused weight", lambda m: _fuse(m, 2), "blk.0.attn_qkv.weight", "[32, 64]", "[32, 96]"
    )


def _shorten(tensor: Tensor, width: int) -> None:
    size = len(tensor.data) // math.prod(tensor.ne)
    tensor.ne[0] = width
    tensor.data = tensor.data[: math.prod(tensor.ne) * size]


def _double(tensor: Tensor) -> None:
    tensor.ne.append(2)
    tensor.data *= 2


def _cut_rows(tensor: Tensor, rows: int) -> None:
    tensor.data = tensor.data[: len(tensor.data) // tensor.ne[1] * rows]
    tensor.ne[1] = rows


def _fuse(model: Gguf, parts: int) -> None:
    q = model.tensor("blk.0.attn_q.weight")
    model.tensors.append(Tensor("blk.0.attn_qkv.weight", [HIDDEN, parts * HIDDEN], q.type, q.data * parts))


def _weights() -> Iterator[Case]:
    f32 = struct.Struct("<f")
    for value in (math.nan, math.inf, -math.inf):
        for name in (
            "token_embd_norm.weight",
            "blk.0.attn_q.bias",
            "blk.1.layer_output_norm.bias",
            "token_types.weight",
        ):
            yield _poisoned(name, f32.pack(value), f"{value}")
        yield _poisoned("position_embd.weight", f32.pack(value), f"{value}")
    for half in (NAN, INF):
        yield _poisoned("blk.0.ffn_up.weight", half, half.hex())
        yield _poisoned("blk.1.attn_v.weight", half, half.hex(), at=2 * HIDDEN * HIDDEN - 2)
        yield _poisoned("token_embd.weight", half, half.hex(), at=2 * HIDDEN * WORDPIECE.index("▁sky"))
        yield _poisoned("blk.0.attn_output.weight", half, f"{half.hex()} as a scale", at=34 * 31)
        yield _poisoned("token_embd.weight", half, f"{half.hex()} in a row of no text")


def _poisoned(name: str, value: bytes, called: str, at: int = 0) -> Case:
    def change(model: Gguf) -> None:
        tensor = model.tensor(name)
        tensor.data = tensor.data[:at] + value + tensor.data[at + len(value) :]

    return _case(f"{name} holds {called}", change, name, "not finite")


def _tensor_set() -> Iterator[Case]:
    needed = """token_embd.weight position_embd.weight token_embd_norm.weight token_embd_norm.bias blk.0.attn_q.weight
        blk.0.attn_output.weight blk.1.attn_output_norm.weight blk.1.attn_output_norm.bias blk.1.ffn_up.weight
        blk.0.ffn_down.weight blk.1.layer_output_norm.weight blk.1.layer_output_norm.bias""".split()
    for name in needed:
        yield _case(f"no {name}", lambda m, n=name: m.tensors.remove(m.tensor(n)), name, "missing")
    yield _case("no tensors", lambda m: m.tensors.clear(), "position_embd.weight", "missing")
    yield _case("no keys", lambda m: m.keys.clear(), "general.architecture")
    yield _layers_claimed(3, "blk.2.attn_q.weight")
    yield _layers_claimed(1, "blk.1.attn_q.weight")
    others = {"cls.weight": [HIDDEN, HIDDEN], "cls.output.weight": [HIDDEN, 1], "dense_2.weight": [HIDDEN, 64]}
    others |= {"dense_3.weight": [64, HIDDEN], "blk.0.ffn_gate.weight": [HIDDEN, FFN], "pooler.dense.weight": [HIDDEN]}
    others |= {
        "blk.0.attn_q_norm.weight": [HIDDEN],
        "blk.0.attn_norm_2.weight": [HIDDEN],
        "output_norm.weight": [HIDDEN],
    }
    for name, ne in others.items():
        other = Tensor(name, ne, TYPE_F32, bytes(4 * math.prod(ne)))
        yield _case(f"{name} besides", lambda m, t=other: m.tensors.append(t), name, str(ne))
    yield _case("q, k and v besides the fused weight", lambda m: _fuse(m, 3), "blk.0.attn_q.weight", "no part")
    for kind, bytes_ in ((24, 1), (28, 8)):
        unusable = {"type": kind, "data": bytes(HIDDEN * HIDDEN * bytes_)}
        yield _tensor("blk.0.attn_k.weight", {24: "I8", 28: "F64"}[kind], **unusable)


def _layers_claimed(layers: int, name: str) -> Case:
    return _case(f"{layers} layers claimed", lambda m: m.keys.update({"bert.block_count": number(U32, layers)}), name)


def _vocabularies() -> Iterator[Case]:
    scores, types = "tokenizer.ggml.scores", "tokenizer.ggml.token_type"
    yield _missing("tokenizer.ggml.model")
    yield _missing(TOKENS)
    yield _missing(scores, "unigram")
    for name in ("gpt2", "llama", "", "T5", "\x1b]0;"):
        yield _key("tokenizer.ggml.model", string(name), f'"{name}"'.replace("\x1b", "\ufffd"))
    gpt2 = {"tokenizer.ggml.model": string("gpt2"), "tokenizer.ggml.pre": string("unheard-of")}
    yield _case("an unknown pre-tokenizer", lambda m: m.keys.update(gpt2), "tokenizer.ggml.model", "gpt2")
    yield _key(TOKENS, array(STRING, 0, b""), "0 entries")
    yield _key(TOKENS, numbers(U32, list(range(8))), "u32")
    yield _key(TOKENS, string("a"), "a string")
    yield _key(TOKENS, strings([*WORDPIECE[:-1], "▁sky"]), "▁sky", "twice", "5", "7")
    yield _key(TOKENS, strings([*UNIGRAM[:-1], "▁sky"]), "▁sky", "twice", "6", "8", kind="unigram")
    yield _one_word_more()
    yield _key(TOKENS, strings([*WORDPIECE[:-1], "s" * 70_000]), "70000", "token 7")
    for kind in (U8, I8, U16, F64, BOOL):
        yield _key(scores, numbers(kind, [0] * 9), kind="unigram")
    yield _key(scores, number(F32, 1), "f32", kind="unigram")
    yield _key(scores, numbers(F32, [0] * 8), "8", "9", kind="unigram")
    yield _key(scores, numbers(F32, [0] * 8 + [math.nan]), "[8]", "not finite", kind="unigram")
    yield _key(types, numbers(I32, [1] * 7), "7", "8")
    yield _key(types, numbers(F32, [1] * 8), "f32")
    yield _key(types, numbers(U8, [1] * 8), "u8")


def _one_word_more() -> Case:
    more = {TOKENS: strings([*WORDPIECE, "more"]), "tokenizer.ggml.token_type": numbers(I32, [1] * 9)}
    return _case("a word more than rows", lambda m: m.keys.update(more), "token_embd.weight", "8", "9")


def _specials() -> Iterator[Case]:
    for role, wrong in (("bos", 4_000_000_000), ("bos", 8), ("seperator", 8), ("unknown", 4_000_000_000)):
        yield _key(f"tokenizer.ggml.{role}_token_id", number(U32, wrong), str(wrong), "8")
    for role, wrong in (("bos", 4_000_000_000), ("eos", 9), ("unknown", 9)):
        yield _key(f"tokenizer.ggml.{role}_token_id", number(U32, wrong), str(wrong), "9", kind="unigram")
    yield _key("tokenizer.ggml.unknown_token_id", number(I32, -1), "-1", "8")
    yield _key("tokenizer.ggml.cls_token_id", string("[CLS]"), "a string")
    yield _key("tokenizer.ggml.padding_token_id", string("[PAD]"), "a string")
    for flag in ("add_bos_token", "add_eos_token", "add_space_prefix", "remove_extra_whitespaces"):
        yield _key(f"tokenizer.ggml.{flag}", number(U32, 1), "u32", kind="unigram")
    for flag in ("lowercase", "strip_accents"):
        yield _key(f"tokenizer.ggml.normalizer.{flag}", string("true"), "a string")


def _charsmaps() -> Iterator[Case]:
    whole, units = charsmap(leaf=0), bytes(1024)
    wrong: list[tuple[bytes, str]] = [(whole[:size], str(size)) for size in (0, 1, 3, 4, 5)]
    wrong += [(struct.pack("<I", size) + units, str(size)) for size in (0, 6, 1024, 0xFFFF_FFFC, 0xFFFF_FFFF)]
    wrong += [(whole[:-1] + b"x", "ends inside")]
    for blob, word in wrong:
        yield _key(CHARSMAP, octets(blob), word, kind="unigram")
    led_to = {charsmap(leaf=5): "offset 5", charsmap(leaf=2): "offset 2", charsmap(leaf=0x7FFF_FFFF): str(0x7FFF_FFFF)}
    led_to |= {charsmap(leaf=0, offset=0x3FF): "unit 904 of 256"}
    for blob, word in led_to.items():
        key = {CHARSMAP: octets(blob)}
        yield _case(
            f"a charsmap to {word}", lambda m, k=key: m.keys.update(k), CHARSMAP, word, kind="unigram", waits=True
        )
    for value, word in ((number(U32, 1), "u32"), (numbers(I32, [1]), "i32"), (string(b"abc"), "a string")):
        yield _key(CHARSMAP, value, word, kind="unigram")
    yield _key(CHARSMAP, strings(["!", "="]), "base64", kind="unigram")
