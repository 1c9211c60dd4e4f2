"""The whole family of `bert` encoders: each published shape against float64, and what their files leave out."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bankml import Encoder, ModelWarning
from oracle.family import FAMILY, Published, make
from oracle.reference import Reference
from tests.raw_gguf import F32, HIDDEN, U32, Gguf, Tensor, number, valid

TEXTS = [
    "",
    "why is the sky blue?",
    "\uff26ull width, \ufb01 and ½: warum ist der Himmel blau? 天空为什么是蓝色的",
    "the sky is blue because light is scattered by air " * 15,
]
EVERY = " ".join(map(chr, range(0x20, 0xD800)))  # meets every rule of a character map
SHAPES: dict[Published, list[str]] = {}
for _name, _shape in FAMILY.items():
    SHAPES.setdefault(_shape, []).append(_name)


@pytest.fixture(scope="module")
def ids(minilm: Path, e5: Path) -> Callable[[Published], list[list[int]]]:
    """Ids of TEXTS and EVERY by the built-in model of the same vocabulary, whose tokens are tested elsewhere."""
    found = {path: [Encoder(path).tokenize(text) for text in (*TEXTS, EVERY)] for path in (minilm, e5)}
    return lambda shape: found[minilm if shape.words == "bert" else e5]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: "+".join(SHAPES[shape]))
def test_each_published_shape(
    shape: Published,
    ids: Callable[[Published], list[list[int]]],
    tmp_path: Path,
    recwarn: pytest.WarningsRecorder,
) -> None:
    *expected, every = ids(shape)
    rows = {index for text in expected for index in text}
    path = make(tmp_path / "model.gguf", shape, rows)
    with Encoder(path) as encoder:
        assert (encoder.arch, encoder.dims, encoder.context_length) == ("bert", shape.hidden, shape.positions)
        assert encoder.pooling == shape.pooling
        assert [encoder.tokenize(text) for text in TEXTS] == expected
        assert encoder.tokenize(EVERY) == every
        assert all((text[0], text[-1]) == ((101, 102) if shape.words == "bert" else (0, 2)) for text in expected)
        together = encoder.encode(TEXTS)
        assert np.vstack([encoder.encode([text]) for text in TEXTS]).tobytes() == together.tobytes()
    truth = np.stack(Reference(make(tmp_path / "weights.gguf", shape, rows, mute=True)).encode_ids(expected))
    assert (together.astype(np.float64) * truth).sum(axis=1).min() >= 0.999999
    assert np.abs(together - truth).max() <= 1e-5
    assert (truth @ truth.T - np.eye(len(TEXTS))).max() < 0.98  # a constant would agree with itself
    assert not recwarn.list


def encoded(path: Path, model: Gguf) -> bytes:
    """Bits of vectors that the model gives."""
    path.write_bytes(model.bytes())
    with Encoder(path) as encoder:
        return encoder.encode(["why sky", "blue", ""]).tobytes()


def take(model: Gguf, name: str) -> Tensor:
    """The tensor, removed from the model."""
    tensor = model.tensor(name)
    model.tensors.remove(tensor)
    return tensor


@pytest.mark.parametrize("epsilon", [1e-12, 1e-5, 0.25])
def test_the_files_epsilon_is_used(tmp_path: Path, epsilon: float) -> None:
    model = valid("wordpiece")
    model.keys["bert.attention.layer_norm_epsilon"] = number(F32, epsilon)
    path = tmp_path / "model.gguf"
    bits = encoded(path, model)
    truth = np.stack(Reference(path).encode_ids([[2, 4, 5, 3], [2, 6, 3], [2, 3]]))
    assert np.abs(np.frombuffer(bits, np.float32).reshape(3, HIDDEN) - truth).max() <= 1e-6


def test_a_fused_attention_weight_gives_the_same_bits(tmp_path: Path) -> None:
    model = valid("wordpiece")
    expected = encoded(tmp_path / "model.gguf", model)
    for layer in range(2):
        for part, ne in (("weight", [HIDDEN, 3 * HIDDEN]), ("bias", [3 * HIDDEN])):
            q, k, v = (take(model, f"blk.{layer}.attn_{name}.{part}") for name in "qkv")
            model.tensors.append(Tensor(f"blk.{layer}.attn_qkv.{part}", ne, q.type, q.data + k.data + v.data))
    assert encoded(tmp_path / "fused.gguf", model) == expected


@pytest.mark.parametrize("module", ["attn_q", "attn_k", "attn_v", "attn_output", "ffn_up", "ffn_down"])
def test_an_absent_bias_is_zero(tmp_path: Path, module: str) -> None:
    zero, absent = valid("wordpiece"), valid("wordpiece")
    zero.tensor(f"blk.1.{module}.bias").data = bytes(len(zero.tensor(f"blk.1.{module}.bias").data))
    take(absent, f"blk.1.{module}.bias")
    assert encoded(tmp_path / "absent.gguf", absent) == encoded(tmp_path / "zero.gguf", zero)


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_row_0_of_the_token_types_is_added_whatever_their_height(tmp_path: Path, rows: int) -> None:
    model = valid("wordpiece")
    expected = encoded(tmp_path / "model.gguf", model)
    types = model.tensor("token_types.weight")
    types.ne, types.data = [HIDDEN, rows], types.data[: 4 * HIDDEN] + np.ones((rows - 1) * HIDDEN, np.float32).tobytes()
    model.keys["tokenizer.ggml.token_type_count"] = number(U32, rows)
    assert encoded(tmp_path / "rows.gguf", model) == expected
    types.data = np.ones(rows * HIDDEN, np.float32).tobytes()
    assert encoded(tmp_path / "other.gguf", model) != expected


def test_without_token_types_none_is_added(tmp_path: Path) -> None:
    zero, absent = valid("wordpiece"), valid("wordpiece")
    zero.tensor("token_types.weight").data = bytes(8 * HIDDEN)
    take(absent, "token_types.weight")
    with pytest.warns(ModelWarning, match=r"token_types\.weight is absent: no token type is added$"):
        bits = encoded(tmp_path / "absent.gguf", absent)
    assert bits == encoded(tmp_path / "zero.gguf", zero)


UNSAID = {
    "bert.attention.causal": "false is assumed",
    "bert.pooling_type": r"0 \(none\), a vector a token, is assumed",
    "tokenizer.ggml.token_type_count": r"2, the rows of token_types\.weight, is assumed",
    "tokenizer.ggml.token_type": "every token is taken as text",
    "tokenizer.ggml.precompiled_charsmap": "text is not normalised",
    "tokenizer.ggml.add_space_prefix": "true is assumed",
    "tokenizer.ggml.remove_extra_whitespaces": "true is assumed",
    "tokenizer.ggml.add_bos_token": "true is assumed",
    "tokenizer.ggml.add_eos_token": "true is assumed",
    "tokenizer.ggml.bos_token_id": "<s>, token 0, is assumed",
    "tokenizer.ggml.eos_token_id": "</s>, token 2, is assumed",
    "tokenizer.ggml.unknown_token_id": "<unk>, token 3, is assumed",
}


@pytest.mark.parametrize("key", UNSAID)
def test_what_an_xlm_r_file_leaves_unsaid_is_a_warning(tmp_path: Path, key: str) -> None:
    path, model = tmp_path / "unsaid.gguf", valid("unigram")
    del model.keys[key]
    path.write_bytes(model.bytes())
    with pytest.warns(ModelWarning, match=rf"unsaid\.gguf: {key} is absent: {UNSAID[key]}$") as warned:
        encoder = Encoder(path)
    assert len(warned) == 1
    assert encoder.tokenize(" why sky  z") == [0, 5, 6, 4, 3, 2]


def test_an_xlm_r_file_that_says_nothing_tokenizes_as_xlm_r(tmp_path: Path) -> None:
    path, model = tmp_path / "old.gguf", valid("unigram")
    for key in UNSAID:
        if key.startswith("tokenizer.ggml") and key != "tokenizer.ggml.token_type":
            del model.keys[key]
    path.write_bytes(model.bytes())
    with pytest.warns(ModelWarning) as warned:
        encoder = Encoder(path)
    assert len(warned) == 9
    assert encoder.tokenize(" why sky  z") == [0, 5, 6, 4, 3, 2]


@pytest.mark.parametrize(("role", "text"), [("unknown", "UNK"), ("seperator", "SEP")])
def test_what_a_bert_file_leaves_unsaid_is_a_warning(tmp_path: Path, role: str, text: str) -> None:
    path, model = tmp_path / "unsaid.gguf", valid("wordpiece")
    del model.keys[f"tokenizer.ggml.{role}_token_id"]
    path.write_bytes(model.bytes())
    with pytest.warns(ModelWarning, match=rf"{role}_token_id is absent: \[{text}\], token \d, is assumed$"):
        assert Encoder(path).tokenize("why z") == [2, 4, 1, 3]
