"""One model in Ollama's terms: size, digest, family, parameters, quantisation."""

from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any

from bankml._engine import GGUF
from bankml.models import Choice
from bankml.models.digest import sha256

# general.file_type → the name Ollama shows
FILE_TYPES = {
    0: "F32",
    1: "F16",
    2: "Q4_0",
    3: "Q4_1",
    7: "Q8_0",
    8: "Q5_0",
    9: "Q5_1",
    10: "Q2_K",
    11: "Q3_K_S",
    12: "Q3_K_M",
    13: "Q3_K_L",
    14: "Q4_K_S",
    15: "Q4_K_M",
    16: "Q5_K_S",
    17: "Q5_K_M",
    18: "Q6_K",
    32: "BF16",
}


@dataclass(frozen=True)
class Description:
    """What a listing says of a model."""

    choice: Choice
    metadata: dict[str, Any]
    tensors: list[dict[str, Any]]
    size: int  # bytes of the weights
    changed: float  # seconds since the epoch, of the weights

    @property
    def name(self) -> str:
        """With a tag, as Ollama lists names."""
        name = self.choice.path.stem if self.choice.kind == "file" else self.choice.name
        return name if ":" in name else f"{name}:latest"

    @property
    def namespace(self) -> str:
        """Who published it; `library` for what came without one."""
        return self.choice.ollama.name.namespace if self.choice.ollama else "library"

    @property
    def modified(self) -> float:
        """Seconds since the epoch."""
        return self.choice.ollama.modified if self.choice.ollama else self.changed

    @property
    def digest(self) -> str:
        """Of Ollama's manifest for a model of its store, as it shows; else of the file. 64 hex digits."""
        return self.choice.ollama.digest if self.choice.ollama else sha256(self.choice.path)

    @property
    def licence(self) -> str:
        """Ollama's text; else the identifier that is known."""
        if self.choice.ollama:
            return "\n".join(self.choice.ollama.licence_texts)
        return str(self.choice.licence)

    @property
    def parameters(self) -> str:
        """The options the model was published with, one per line."""
        options = self.choice.ollama.parameters if self.choice.ollama else {}
        return "\n".join(f"{name:<30} {value}" for name, value in options.items())

    @property
    def parameter_count(self) -> int:
        """Weights in all tensors."""
        return sum(prod(tensor["shape"]) for tensor in self.tensors)

    @property
    def details(self) -> dict[str, Any]:
        """Ollama's `details`."""
        arch = str(self.metadata.get("general.architecture", ""))
        return {
            "parent_model": "",
            "format": "gguf",
            "family": arch,
            "families": [arch],
            "parameter_size": human_count(self.parameter_count),
            "quantization_level": FILE_TYPES.get(self.metadata.get("general.file_type", -1), "unknown"),
            "context_length": self.metadata.get(f"{arch}.context_length", 0),
            "embedding_length": self.metadata.get(f"{arch}.embedding_length", 0),
        }


def describe(choice: Choice) -> Description:
    """Reads the file's header, once until it changes. Raises ModelError or OSError when it cannot be read."""
    status = choice.path.stat()
    metadata, tensors = _header(str(choice.path), status.st_mtime_ns, status.st_size)
    return Description(choice, metadata, tensors, status.st_size, status.st_mtime)


def human_count(count: int) -> str:
    """A number of weights as Ollama writes it: 22.57M, 566.70M, 1.5B."""
    if count >= 10**9:
        return f"{count / 1e9:.1f}B".replace(".0B", "B")
    if count >= 10**6:
        return f"{count / 1e6:.2f}M"
    return f"{count / 1e3:.2f}K" if count >= 1000 else str(count)


@lru_cache(maxsize=64)
def _header(path: str, changed: int, size: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    gguf = GGUF(path)
    return gguf.metadata, gguf.tensors
