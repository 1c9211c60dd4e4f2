"""Which weights embed: name, digest, dimensions, licence and prefixes, told without loading anything."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bankml.errors import Error, ModelError, UnavailableError
from bankml.models import Choice, display, header, prefixes
from bankml.models.description import Description, describe
from bankml.models.digest import remembered, sha256
from bankml.models.licence import Licence, classify_all, refused
from bankml.models.ollama_store import OllamaModel
from bankml.models.prefixes import Override, Prefixes

BLOB = re.compile(r"^FROM .*\bsha256-([0-9a-f]{64})\s*$", re.MULTILINE)  # how a modelfile names weights
MOST_DIMS = 1 << 16


@dataclass(frozen=True)
class Identity:
    """`stated`: the sha256 that the weights have by Ollama's manifest, a pull's record or a recipe; None: unsaid.

    `dims` is 0 where the file does not say, `path` None for weights that only Ollama can read. `dtype` and `pooling`
    are what the engine runs, and "" of a model that Ollama runs: the fingerprint of its vectors must not depend on
    whether its file can be read here.
    """

    model: str  # as people say it: without :latest
    stated: str | None
    dims: int
    bytes: int
    licence: Licence
    prefixes: Prefixes
    path: Path | None = None
    dtype: str = ""  # of most weights: "F16"
    pooling: str = ""
    reference: str = ""  # what finds this very model again, as `bankml.load` takes it; "": `model` does
    adapted: bool = False  # its prefixes or its pooling are a user's

    @classmethod
    def of(cls, choice: Choice) -> "Identity":
        """Of a file that is here. Raises ModelError when it cannot be read."""
        found = describe(choice)
        return cls(
            model=choice.name.removesuffix(":latest"),
            stated=_stated(choice),
            dims=_dims(found.dims),
            bytes=found.size,
            licence=choice.licence,
            prefixes=prefixes.of(choice.name, choice.path.stem, _own_name(found)),
            path=choice.path,
            dtype=found.quantization,
            pooling=found.pooling,
            reference=display(choice),
        )

    @classmethod
    def of_ollama(cls, model: OllamaModel) -> "Identity":
        """Of a model of Ollama's store, by its manifest; the file adds what it can. Raises ModelError."""
        choice = Choice(str(model.name), "ollama", model.gguf, "Ollama's", ollama=model)
        found = Description(choice, _header(model.gguf))
        return cls(
            model=choice.name.removesuffix(":latest"),
            stated=model.weights_digest,
            dims=_dims(found.dims),
            bytes=model.gguf.stat().st_size,
            licence=choice.licence,
            prefixes=prefixes.of(choice.name, _own_name(found)),
        )

    @classmethod
    def of_shown(cls, name: str, shown: Mapping[str, Any], row: Mapping[str, Any]) -> "Identity | None":
        """By Ollama's answers of /api/show and /api/tags; None where they do not name the blob of the weights."""
        digests = BLOB.findall(str(shown.get("modelfile")))
        if len(set(digests)) != 1:
            return None
        info = shown.get("model_info")
        info = info if isinstance(info, dict) else {}
        size = row.get("size")
        return cls(
            model=name.removesuffix(":latest"),
            stated=digests[0],
            dims=_dims(info.get(f"{info.get('general.architecture')}.embedding_length")),
            bytes=size if isinstance(size, int) else 0,
            licence=classify_all([str(shown.get("license") or "")]),
            prefixes=prefixes.of(name, str(info.get("general.name", ""))),
        )

    def overridden(self, override: Override | None) -> "Identity":
        """The same with the prefixes that a user wants."""
        own = override.over(self.prefixes) if override else self.prefixes
        return self if own == self.prefixes else replace(self, prefixes=own, adapted=True)

    def pooled(self, pooling: str | None) -> "Identity":
        """The same with the pooling that its file does not say."""
        return replace(self, pooling=pooling, adapted=True) if pooling else self

    @property
    def digest(self) -> str:
        """sha256 of the file, hex: as stated, else read once and remembered."""
        return self.stated or sha256(self._file)

    def facts(self) -> dict[str, Any]:
        """For a status; `digest` is None of a file that was never read."""
        refusal = refused(self.model, self.licence)
        return {
            "model": self.model,
            "digest": self.stated or self._remembered(),
            "dims": self.dims,
            "bytes": self.bytes,
            "licence": self.licence.id,
            "open": self.licence.open,
            "notes": [refusal] if refusal else [],
        }

    def check(self, expected: str) -> None:
        """Reads the file, once until it changes. Raises UnavailableError when its sha256 is not `expected`."""
        if (found := sha256(self._file)) != expected:
            raise UnavailableError(
                f"{self.path} has the sha256 {found}, not {expected}: it changed or rotted; pull {self.model} again, "
                "or start anew if you replaced it"
            )

    def _remembered(self) -> str | None:
        try:
            return remembered(self._file)
        except ModelError:  # it is gone
            return None

    @property
    def _file(self) -> Path:
        assert self.path  # or `stated` says it
        return self.path


def _dims(said: object) -> int:
    return said if isinstance(said, int) and 0 < said <= MOST_DIMS else 0


def _stated(choice: Choice) -> str | None:
    if choice.ollama:
        return choice.ollama.weights_digest
    if choice.hub:
        return choice.hub.sha256
    return choice.known.gguf_sha256 if choice.known else None


def _own_name(found: Description) -> str:
    name = found.metadata.get("general.name")
    return name if isinstance(name, str) else ""


def _header(path: Path) -> header.Header | None:
    try:
        return header.read(path)
    except Error:
        return None
