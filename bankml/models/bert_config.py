"""config.json of a BERT or XLM-RoBERTa encoder: its numbers; what the graph does not compute is refused."""

from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from bankml.errors import ModelError
from bankml.models import json_object
from bankml.utf8 import printable

LAYERS_MAX = 512  # llama.cpp's own limit
# model_type → architectures. A classifier or reranker has the same encoder and another answer.
KNOWN = {
    "bert": ("BertModel", "BertForMaskedLM", "BertForPreTraining"),
    "xlm-roberta": ("XLMRobertaModel", "XLMRobertaForMaskedLM"),
    "roberta": ("RobertaModel", "RobertaForMaskedLM"),
}
# What must be as the graph has it; absent is as the first value says.
FIXED: dict[str, tuple[Any, ...]] = {
    "hidden_act": ("gelu",),
    "position_embedding_type": ("absolute", None),
    "is_decoder": (False, None),
    "add_cross_attention": (False, None),
    "quantization_config": (None,),
}
LISTED, TOLD = 3, 200  # architectures and characters in an error message
PADDING = 1  # RoBERTa's pad_token_id where the config does not say


class KindError(ModelError):
    """A model of another graph; `kind` names it: "nomic_bert (NomicBertModel, code of its own)"."""

    def __init__(self, sentence: str, kind: str) -> None:
        super().__init__(sentence)
        self.kind = kind


@dataclass(frozen=True)
class BertConfig:
    """Sizes of the encoder. `first_position` is the row of the position table that a text's first token takes."""

    path: Path
    layers: int
    hidden: int
    ffn: int
    heads: int
    epsilon: float
    vocabulary_rows: int
    position_rows: int
    type_rows: int
    first_position: int

    @property
    def context_length(self) -> int:
        """Positions that a text can take."""
        return self.position_rows - self.first_position


def read(path: Path) -> BertConfig:
    """The config at `path`. Raises ModelError, naming what was found, when it is not of an encoder that is known."""
    content = json_object.read(path)
    _check_kind(path, content)
    for key, allowed in FIXED.items():
        if content.get(key, allowed[0]) not in allowed:
            raise ModelError(f"{path} says {key} {content[key]!r}: only {allowed[0]!r} can be computed")
    config = BertConfig(
        path=path,
        layers=_count(path, content, "num_hidden_layers"),
        hidden=_count(path, content, "hidden_size"),
        ffn=_count(path, content, "intermediate_size"),
        heads=_count(path, content, "num_attention_heads"),
        epsilon=_epsilon(path, content),
        vocabulary_rows=_count(path, content, "vocab_size"),
        position_rows=_count(path, content, "max_position_embeddings"),
        type_rows=_count(path, content, "type_vocab_size"),
        first_position=_first_position(path, content),
    )
    _check_sizes(config)
    return config


def _check_kind(path: Path, content: dict[str, Any]) -> None:
    kind, architectures = content.get("model_type"), content.get("architectures") or []
    known = KNOWN.get(kind, ()) if isinstance(kind, str) else ()
    custom = [] if "auto_map" not in content else [f"code of its own ({content['auto_map']!r})"]
    if custom or not known or not isinstance(architectures, list) or any(name not in known for name in architectures):
        found = [f"model_type {kind!r}", f"architectures {architectures!r}", *custom]
        raise KindError(
            f"{path} says {', '.join(found)}: only the encoders {', '.join(chain(*KNOWN.values()))} can be converted; "
            "take a GGUF file of this model",
            _told(kind, architectures, bool(custom)),
        )


def _told(kind: object, architectures: object, custom: bool) -> str:
    named = [str(name) for name in architectures] if isinstance(architectures, list) else []
    more = [*named[:LISTED], *(["code of its own"] if custom else [])]
    return printable(f"{kind or 'unknown'} ({', '.join(more)})" if more else f"{kind or 'unknown'}")[:TOLD]


def _first_position(path: Path, content: dict[str, Any]) -> int:
    """RoBERTa counts positions from pad_token_id + 1 on, so the rows before are never used."""
    if content["model_type"] == "bert":
        return 0
    padding = content.get("pad_token_id", PADDING)
    if type(padding) is not int or not 0 <= padding < 1 << 31:
        raise ModelError(f"{path} says pad_token_id {padding!r}: the positions start behind it, so it must be a count")
    return padding + 1


def _check_sizes(config: BertConfig) -> None:
    if config.layers > LAYERS_MAX:
        raise ModelError(f"{config.path} says num_hidden_layers {config.layers}: at most {LAYERS_MAX} can be loaded")
    if config.hidden % config.heads:
        raise ModelError(
            f"{config.path} says hidden_size {config.hidden} and num_attention_heads {config.heads}: "
            "the first must be a multiple of the second"
        )
    if config.context_length < 1:
        raise ModelError(
            f"{config.path} says max_position_embeddings {config.position_rows}, and texts start at position "
            f"{config.first_position}: none is left"
        )


def _epsilon(path: Path, content: dict[str, Any]) -> float:
    value = content.get("layer_norm_eps", 1e-12)
    if type(value) not in (int, float) or not 0 < value < 1:
        raise ModelError(f"{path} says layer_norm_eps {value!r}: it must be a small positive number")
    return float(value)


def _count(path: Path, content: dict[str, Any], key: str) -> int:
    value = content.get(key)
    if type(value) is not int or not 0 < value < 1 << 31:
        raise ModelError(f"{path} says {key} {value!r}: it must be a positive count")
    return value
