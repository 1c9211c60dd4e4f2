"""Ollama's manifest of one model: which blobs it is made of. Nothing in it is believed before it is checked."""

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any

from bankml.errors import ModelError
from bankml.models.digest import is_sha256

IMAGE = "application/vnd.ollama.image."
PREFIX = re.compile(r"sha256[:-]")
EMPTY = hashlib.sha256().hexdigest()
MAX_LAYERS = 100_000


@dataclass(frozen=True)
class Layer:
    """One blob: what it is, its sha256 (64 hex digits, lower case) and its size in bytes."""

    kind: str  # "model", "license", "params", …; the media type itself when it is not one of Ollama's
    digest: str
    size: int

    @property
    def blob_name(self) -> str:
        """The blob's file name in the store."""
        return f"sha256-{self.digest}"


@dataclass(frozen=True)
class Manifest:
    """The model's layers. `digest` is the sha256 of the manifest's own bytes: the ID that `ollama list` shows."""

    digest: str
    config: Layer | None
    layers: tuple[Layer, ...]

    @classmethod
    def parse(cls, content: bytes, name: str) -> "Manifest":
        """Raises ModelError naming the model and what is wrong with its manifest."""
        try:
            value = json.loads(content)
        except (ValueError, RecursionError):
            raise _damaged(name, "is not JSON") from None
        match value:
            case {"layers": list(layers)} if len(layers) <= MAX_LAYERS:
                config = value.get("config")
            case _:
                raise _damaged(name, "has no list of layers")
        return cls(
            digest=hashlib.sha256(content).hexdigest(),
            config=None if config is None else _layer(config, name),
            layers=tuple(_layer(layer, name) for layer in layers),
        )

    def of_kind(self, kind: str) -> list[Layer]:
        """The layers of this kind, in order."""
        return [layer for layer in self.layers if layer.kind == kind]

    def weights(self, name: str) -> Layer:
        """The one layer that is a GGUF file. Raises ModelError for a model that has none, or several."""
        found = self.of_kind("model")
        if not found and self.of_kind("tensor"):
            raise ModelError(
                f"{name} is stored as safetensors, not as GGUF: pull a GGUF version of it, another tag or model"
            )
        if len(found) != 1:
            raise ModelError(
                f"{name} has {len(found)} model layers, not one: run `ollama pull {name}`, or name another model"
            )
        return found[0]


def _layer(value: Any, name: str) -> Layer:
    match value:
        case {"mediaType": str(media), "digest": str(digest), "size": int(size)} if type(size) is int and size >= 0:
            pass
        case _:
            raise _damaged(name, "describes a layer without media type, digest and size")
    prefix = PREFIX.match(digest)
    if not prefix or not is_sha256(sha256 := digest[prefix.end() :].lower()):
        raise _damaged(name, f"names the blob {digest[:100]!r}, which is no sha256 digest")
    return Layer(media.removeprefix(IMAGE), sha256, size)


def _damaged(name: str, what: str) -> ModelError:
    return ModelError(f"Ollama's manifest of {name} {what}: run `ollama pull {name}` to repair it")
