"""Is a model's file what it should be? Its digest, every weight, and the vector that was published for it."""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from bankml.models import pinned
from bankml.models.digest import fresh_sha256
from bankml.models.names import Choice
from bankml.models.progress import Progress, silent

COSINE = 0.99999  # of the published vector; the figures were computed by llama.cpp, with tanh GELU
# Tags under which Ollama gives the very file that the published vector belongs to.
TAGS = {"all-minilm": {"latest", "22m"}, "bge-m3": {"latest", "567m"}}
PUBLISHED_AS = {"all-minilm-l6-v2": "all-minilm"}


class Encoding(Protocol):
    """The part of an Encoder that is needed here."""

    def encode(self, texts: list[str]) -> NDArray[np.float32]:
        """Unit vectors (n, dims) of the texts."""
        ...

    def verify_finite(self, progress: Callable[[int, int], None] | None = None) -> None:
        """Raises ModelError naming the first tensor that holds a value that is not finite."""
        ...


@dataclass(frozen=True)
class Published:
    """A vector that others published for a text."""

    model: str
    text: str
    vector: NDArray[np.float64]  # (dims,), unit length
    source: str


@dataclass(frozen=True)
class Report:
    """What was found. `expected` is None where nobody stated a digest, `cosine` where no vector was published."""

    name: str
    path: Path
    digest: str
    expected: str | None
    published: Published | None
    cosine: float | None

    @property
    def problems(self) -> list[str]:
        """A sentence for each thing that is wrong; none when the file is sound."""
        found = []
        if self.expected not in (None, self.digest):
            found.append(f"{self.path} has the sha256 {self.digest}, not {self.expected}: delete it and pull it again")
        if self.published and self.cosine is not None and not self.cosine >= COSINE:
            found.append(
                f"{self.name} gives a vector of cosine {self.cosine:.6f} to the one published for "
                f"{self.published.text!r}, below {COSINE}: its weights or tokens are not {self.published.model}'s"
            )
        return found


def verify(choice: Choice, encoder: Encoding, progress: Progress = silent) -> Report:
    """Reads the whole file of `choice`, which `encoder` has loaded.

    Raises ModelError when it cannot be read or a weight is not finite; what else is wrong is in the report.
    """
    digest = fresh_sha256(choice.path, progress)
    encoder.verify_finite(lambda done, total: progress("checking weights", done, total))
    published = published_for(choice)
    cosine = None
    if published:
        vector = encoder.encode([published.text])[0].astype(np.float64)
        cosine = _cosine(vector, published.vector)
    return Report(choice.name, choice.path, digest, expected_digest(choice), published, cosine)


def expected_digest(choice: Choice) -> str | None:
    """The sha256 that the file must have, where one is stated."""
    if choice.known:
        return choice.known.gguf_sha256
    if choice.hub:
        return choice.hub.sha256
    return choice.ollama.weights_digest if choice.ollama else None


def published_for(choice: Choice) -> Published | None:
    """The vector published for this very model, if there is one."""
    if choice.preset:
        return _published().get(PUBLISHED_AS.get(choice.preset.name, ""))
    if choice.hub:
        return _published().get(pinned.BGE_M3.name) if choice.hub.sha256 == pinned.BGE_M3.gguf_sha256 else None
    if choice.ollama is None:
        return None
    short, _, tag = str(choice.ollama.name).casefold().partition(":")
    return _published().get(short) if tag in TAGS.get(short, {"latest"}) else None


@cache
def _published() -> dict[str, Published]:
    content = json.loads(resources.files("bankml.models").joinpath("published.json").read_bytes())
    return {
        model: Published(model, content["text"], np.array(vector), content["source"])
        for model, vector in content["vectors"].items()
    }


def _cosine(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    if a.shape != b.shape:
        return 0.0
    return float(a @ b) / (math.sqrt(float(a @ a) * float(b @ b)) or 1.0)
