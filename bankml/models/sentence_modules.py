"""modules.json of sentence-transformers: where the transformer lies, how its rows are pooled, and what else is done."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bankml.errors import ModelError
from bankml.models import json_object
from bankml.utf8 import printable

# What sentence-transformers calls a pooling → what GGUF does
SPELLINGS = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "cls",
    "pooling_mode_lasttoken": "last",
    "mean": "mean",
    "cls": "cls",
    "lasttoken": "last",
}
# Vectors are given unit length anyway, and dropout does nothing outside of training.
HARMLESS = ("Normalize", "Dropout")


@dataclass(frozen=True)
class SentenceModules:
    """`transformer` is the folder of config, tokenizer and weights; `pooling` is None where none is recorded.

    `notes` are sentences about what sentence-transformers does with a text and a GGUF file does not.
    """

    transformer: Path
    pooling: str | None
    notes: tuple[str, ...]


def read(folder: Path) -> SentenceModules:
    """What is recorded in `folder`, which may be a plain transformer without modules.json.

    Raises ModelError, naming what was found, for a module or a pooling that a GGUF file cannot express.
    """
    path = folder / "modules.json"
    if not path.exists():
        pooling = folder / "1_Pooling" / "config.json"
        return SentenceModules(folder, _pooling(pooling) if pooling.exists() else None, _notes(folder, folder))
    transformer, pooling_folder = folder, None
    for at, (kind, place) in enumerate(modules(path)):
        if (kind == "Transformer") != (at == 0) or kind not in ("Transformer", "Pooling", *HARMLESS):
            raise ModelError(f"{path} has the module {kind!r} at place {at}: its work would be missing in a GGUF file")
        if kind == "Transformer":
            transformer = folder / place
        elif kind == "Pooling":
            pooling_folder = folder / place
    stated = _pooling(pooling_folder / "config.json") if pooling_folder else None
    return SentenceModules(transformer, stated, _notes(folder, transformer))


def modules(path: Path) -> list[tuple[str, str]]:
    """Kind and folder of each module of the modules.json at `path`. Raises ModelError when it is damaged."""
    listed = json_object.read_any(path)
    if not isinstance(listed, list) or not listed:
        raise ModelError(f"{path} is not a list of modules: the model's folder is damaged")
    return [_module(path, entry) for entry in listed]


def _module(path: Path, entry: Any) -> tuple[str, str]:
    match entry:
        case {"type": str(kind), "path": str(place)}:
            pass
        case _:
            raise ModelError(f"{path} has the module {entry!r}, without a type and a path: the folder is damaged")
    if Path(place).is_absolute() or ".." in Path(place).parts or printable(place) != place:
        raise ModelError(f"{path} has a module at {place!r}: it must lie inside of the model's folder")
    return (kind.rpartition(".")[2] if kind.startswith("sentence_transformers.") else kind), place


def _pooling(path: Path) -> str:
    content = json_object.read(path)
    chosen = [key for key, value in content.items() if key.startswith("pooling_mode_") and value is True]
    if (mode := content.get("pooling_mode")) is not None:
        chosen += mode if isinstance(mode, list) else [mode]
    if len(chosen) != 1 or str(chosen[0]) not in SPELLINGS:
        raise ModelError(f"{path} asks for the pooling {chosen}: only one of mean, cls and last token is known")
    return SPELLINGS[chosen[0]]


def _notes(folder: Path, transformer: Path) -> tuple[str, ...]:
    path = transformer / "sentence_bert_config.json"
    limits = json_object.read_if_there(path)
    if limits.get("do_lower_case"):
        raise ModelError(f"{path} says do_lower_case: texts would have to be lower-cased before they are given to it")
    notes = []
    if type(limit := limits.get("max_seq_length")) is int and limit > 0:
        notes.append(f"sentence-transformers cuts texts at {limit} tokens; the file reads as many as it has positions")
    match json_object.read_if_there(folder / "config_sentence_transformers.json"):
        case {"default_prompt_name": str(name), "prompts": dict(prompts)} if prompts.get(name):
            notes.append(f"sentence-transformers puts {prompts[name]!r} before every text; the file's user must")
    return tuple(notes)
