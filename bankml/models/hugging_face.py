"""A Hugging Face folder of a BERT with a WordPiece vocabulary (MiniLM, bge-*-en, arctic-embed 1) → GGUF in F16."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bankml.errors import ModelError
from bankml.models.gguf_writer import Bert, Origin, Tensor, write
from bankml.models.progress import Progress, silent
from bankml.models.safetensors import Safetensors

if TYPE_CHECKING:
    from gguf import GGUFWriter

LAYERS_MAX = 512  # llama.cpp's own limit
TABLES = {
    "token_embd.weight": "embeddings.word_embeddings.weight",
    "position_embd.weight": "embeddings.position_embeddings.weight",
    "token_types.weight": "embeddings.token_type_embeddings.weight",
    "token_embd_norm.weight": "embeddings.LayerNorm.weight",
    "token_embd_norm.bias": "embeddings.LayerNorm.bias",
}
MODULES = {
    "attn_q": "attention.self.query",
    "attn_k": "attention.self.key",
    "attn_v": "attention.self.value",
    "attn_output": "attention.output.dense",
    "attn_output_norm": "attention.output.LayerNorm",
    "ffn_up": "intermediate.dense",
    "ffn_down": "output.dense",
    "layer_output_norm": "output.LayerNorm",
}
SPECIAL = {
    "[PAD]": "padding",
    "[UNK]": "unknown",
    "[CLS]": "cls",
    "[SEP]": "seperator",
    "[MASK]": "mask",
}  # ggml's spelling
NORMAL, CONTROL = 1, 3


def convert(folder: Path, path: Path, origin: Origin, progress: Progress = silent) -> None:
    """Writes `folder` as the GGUF file `path`: matrices F16, norms, biases, positions and types F32.

    Raises ModelError when the folder is not a BERT with a WordPiece vocabulary, or is damaged.
    """
    config = _object(folder / "config.json")
    if config.get("model_type") != "bert":
        raise ModelError(
            f"{folder / 'config.json'} says model_type {config.get('model_type')!r}: only 'bert' can be converted; "
            "take a GGUF file of this model"
        )
    bert = _bert(folder, config)
    vocabulary = _vocabulary(folder / "vocab.txt", _count(folder, config, "vocab_size"))
    with Safetensors(folder / "model.safetensors") as weights:
        tensors = list(_tensors(weights, bert.layers))
        write(path, origin, bert, partial(_add_wordpiece, vocabulary, _lowercase(folder)), tensors, progress)


def _bert(folder: Path, config: dict[str, Any]) -> Bert:
    if config.get("hidden_act", "gelu") != "gelu":
        raise ModelError(f"{folder / 'config.json'} says hidden_act {config['hidden_act']!r}: only 'gelu' is known")
    layers = _count(folder, config, "num_hidden_layers")
    if layers > LAYERS_MAX:
        raise ModelError(
            f"{folder / 'config.json'} says num_hidden_layers {layers}: at most {LAYERS_MAX} can be loaded"
        )
    return Bert(
        layers=layers,
        hidden=_count(folder, config, "hidden_size"),
        ffn=_count(folder, config, "intermediate_size"),
        heads=_count(folder, config, "num_attention_heads"),
        context_length=_count(folder, config, "max_position_embeddings"),
        epsilon=float(config.get("layer_norm_eps", 1e-12)),
        pooling=_pooling(folder / "1_Pooling" / "config.json"),
        type_rows=_count(folder, config, "type_vocab_size"),
        matrices="F16",
    )


def _pooling(path: Path) -> str:
    config = _object(path)
    modes = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls", "pooling_mode_lasttoken": "last"}
    chosen = [key for key, value in config.items() if key.startswith("pooling_mode_") and value is True]
    if len(chosen) != 1 or chosen[0] not in modes:
        raise ModelError(f"{path} asks for the pooling {chosen}: only one of mean, cls and last token is known")
    return modes[chosen[0]]


def _lowercase(folder: Path) -> bool:
    path = folder / "tokenizer_config.json"
    return bool(_object(path).get("do_lower_case", True)) if path.exists() else True


def _tensors(weights: Safetensors, layers: int) -> Iterator[Tensor]:
    prefix = "bert." if "bert.embeddings.LayerNorm.weight" in weights.entries else ""
    for name, source in TABLES.items():
        yield _tensor(weights, name, prefix + source)
    for layer in range(layers):
        for name, module in MODULES.items():
            for part in ("weight", "bias"):
                yield _tensor(weights, f"blk.{layer}.{name}.{part}", f"{prefix}encoder.layer.{layer}.{module}.{part}")


def _tensor(weights: Safetensors, name: str, source: str) -> Tensor:
    shape = weights.shape(source)
    table = name in ("position_embd.weight", "token_types.weight")
    return Tensor(name, "F16" if len(shape) == 2 and not table else "F32", shape, partial(_load, weights, source))


def _load(weights: Safetensors, source: str) -> NDArray[np.float32]:
    return weights.floats(source)


def _vocabulary(path: Path, rows: int) -> list[str]:
    try:
        tokens = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(f"{path} cannot be read as the vocabulary ({error}): fetch it again") from None
    if len(tokens) != rows or len(set(tokens)) != rows:
        raise ModelError(f"{path} has {len(set(tokens))} different tokens, the weights {rows} rows: fetch both again")
    if missing := SPECIAL.keys() - set(tokens):
        raise ModelError(f"{path} lacks {sorted(missing)}: it is not a WordPiece vocabulary")
    return tokens


def _add_wordpiece(vocabulary: list[str], lowercase: bool, writer: "GGUFWriter") -> None:
    writer.add_tokenizer_model("bert")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([_stored_form(token) for token in vocabulary])
    writer.add_token_types([CONTROL if token in SPECIAL else NORMAL for token in vocabulary])
    for token, role in SPECIAL.items():
        writer.add_uint32(f"tokenizer.ggml.{role}_token_id", vocabulary.index(token))
    writer.add_uint32("tokenizer.ggml.bos_token_id", vocabulary.index("[CLS]"))
    writer.add_uint32("tokenizer.ggml.eos_token_id", vocabulary.index("[SEP]"))
    writer.add_bool("tokenizer.ggml.normalizer.lowercase", lowercase)


def _stored_form(token: str) -> str:
    """A word's start is marked in GGUF, in WordPiece its continuation is; bracketed tokens stay as they are."""
    if token.startswith("[") and token.endswith("]"):
        return token
    return token[2:] if token.startswith("##") else "▁" + token


def _count(folder: Path, config: dict[str, Any], key: str) -> int:
    value = config.get(key)
    if type(value) is not int or not 0 < value < 1 << 31:
        raise ModelError(f"{folder / 'config.json'} says {key} {value!r}: it must be a positive count")
    return value


def _object(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{path} cannot be read ({error}): the model's folder is incomplete") from None
    if not isinstance(value, dict):
        raise ModelError(f"{path} is not a JSON object: the model's folder is damaged")
    return value
