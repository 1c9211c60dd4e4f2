"""What is known of one model: size, digest, dimensions, and Ollama's terms for family and quantisation."""

from dataclasses import dataclass
from math import prod
from typing import Any

from bankml.gguf_numbers import FILE_TYPES, POOLINGS
from bankml.models import header
from bankml.models.digest import sha256
from bankml.models.header import Header
from bankml.models.names import Choice


@dataclass(frozen=True)
class Description:
    """What a listing says of a model. `header` is None where the file is absent or cannot be read."""

    choice: Choice
    header: Header | None

    @property
    def present(self) -> bool:
        """As in Choice."""
        return self.choice.present

    @property
    def name(self) -> str:
        """With a tag, as Ollama lists names."""
        name = self.choice.path.stem if self.choice.kind == "file" else self.choice.name
        return name if ":" in name else f"{name}:latest"

    @property
    def namespace(self) -> str:
        """Who published it; `library` for what came without one."""
        if self.choice.hub and not self.choice.pinned:
            return self.choice.hub.name.owner
        return self.choice.ollama.name.namespace if self.choice.ollama else "library"

    @property
    def size(self) -> int:
        """Bytes of the weights; of a model that was not pulled, what they will be; 0 when unknown."""
        if self.header:
            return self.header.size
        return self.choice.known.size if self.choice.known else 0

    @property
    def modified(self) -> float:
        """Seconds since the epoch at which it was pulled or last changed; 0 when unknown."""
        if self.choice.ollama:
            return self.choice.ollama.modified
        return self.header.changed if self.header else 0

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
    def metadata(self) -> dict[str, Any]:
        """The file's own keys."""
        return self.header.metadata if self.header else {}

    @property
    def tensors(self) -> list[dict[str, Any]]:
        """The file's tensors, by name, type, shape and bytes."""
        return self.header.tensors if self.header else []

    @property
    def parameter_count(self) -> int:
        """Weights in all tensors."""
        return sum(prod(tensor["shape"]) for tensor in self.tensors)

    @property
    def family(self) -> str:
        """The architecture; "" when the file does not say."""
        return self.header.arch if self.header else ""

    @property
    def dims(self) -> int:
        """Length of its vectors; 0 when the file does not say."""
        return self.choice.known.dims if self.choice.known else self._number("embedding_length")

    @property
    def context_length(self) -> int:
        """Tokens that it can read; 0 when the file does not say."""
        return self.choice.known.context_length if self.choice.known else self._number("context_length")

    @property
    def pooling(self) -> str:
        """ "mean", "cls", "last" or "none"; "" when the file does not say."""
        if self.choice.known:
            return self.choice.known.pooling
        number = self.metadata.get(f"{self.family}.pooling_type")
        return POOLINGS[number] if isinstance(number, int) and 0 <= number < len(POOLINGS) else ""

    @property
    def quantization(self) -> str:
        """Of most weights, as Ollama spells it: "F16", "Q4_K_M"; "unknown" when the file does not say."""
        number = self.metadata.get("general.file_type")
        return FILE_TYPES.get(number, "unknown") if isinstance(number, int) else "unknown"

    @property
    def details(self) -> dict[str, Any]:
        """Ollama's `details`."""
        return {
            "parent_model": "",
            "format": "gguf",
            "family": self.family,
            "families": [self.family],
            "parameter_size": human_count(self.parameter_count),
            "quantization_level": self.quantization,
            "context_length": self.context_length,
            "embedding_length": self.dims,
        }

    def _number(self, key: str) -> int:
        value = self.metadata.get(f"{self.family}.{key}", 0)
        return value if isinstance(value, int) else 0


def describe(choice: Choice) -> Description:
    """Reads the file's header. Raises ModelError when it is not there or damaged."""
    return Description(choice, header.read(choice.path))


def human_count(count: int) -> str:
    """A number of weights as Ollama writes it: 22.57M, 566.70M, 1.5B."""
    if count >= 10**9:
        return f"{count / 1e9:.1f}B".replace(".0B", "B")
    if count >= 10**6:
        return f"{count / 1e6:.2f}M"
    return f"{count / 1e3:.2f}K" if count >= 1000 else str(count)
