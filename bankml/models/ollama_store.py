"""Models that Ollama pulled, read from its folder on disk; Ollama need not run."""

import json
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from bankml.errors import Error, ModelError
from bankml.models import header
from bankml.models.licence import Licence, classify_all
from bankml.models.manifest import EMPTY, Layer, Manifest
from bankml.models.ollama_name import OllamaName
from bankml.settings import Settings

MAX_MANIFEST = 16 << 20
MAX_TEXT = 1 << 20  # configuration, parameters, one licence
SERVICE_FOLDERS = ("/usr/share/ollama/.ollama/models", "/var/lib/ollama/models", "/var/lib/ollama")
ENCODERS = frozenset({"bert"})  # architectures that the engine runs


@dataclass(frozen=True)
class OllamaModel:
    """A model of the store. The manifest was checked; blobs are checked when they are asked for."""

    name: OllamaName
    root: Path
    manifest_path: Path
    manifest: Manifest

    @property
    def digest(self) -> str:
        """sha256 of the manifest, hex: Ollama's own identity of the model."""
        return self.manifest.digest

    @property
    def modified(self) -> float:
        """Seconds since the epoch at which it was pulled."""
        return self.manifest_path.stat().st_mtime

    @property
    def size(self) -> int:
        """Bytes of all its layers, as `ollama list` shows."""
        layers = self.manifest.layers
        return sum(layer.size for layer in (*layers, *filter(None, [self.manifest.config])))

    @cached_property
    def gguf(self) -> Path:
        """The weights. Raises ModelError, with the remedy, for a blob that is missing, partial, cut or unreadable."""
        return self._blob(self.manifest.weights(str(self.name)))

    @property
    def weights_digest(self) -> str:
        """sha256 that the weights must have, hex."""
        return self.manifest.weights(str(self.name)).digest

    @cached_property
    def config(self) -> dict[str, Any]:
        """Ollama's notes: `model_family`, `model_type`, `file_type`, …; empty when there are none."""
        return self._object(self.manifest.config) if self.manifest.config else {}

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """The options the model was published with, `num_ctx` for one; empty when there are none."""
        layers = self.manifest.of_kind("params")
        return self._object(layers[0]) if layers else {}

    @cached_property
    def licence_texts(self) -> list[str]:
        """The text of each licence layer."""
        return [self._read(layer, MAX_TEXT).decode("utf-8", "replace") for layer in self.manifest.of_kind("license")]

    @property
    def licence(self) -> Licence:
        """What the licence layers amount to; unknown when they cannot be read."""
        try:
            return classify_all(self.licence_texts)
        except ModelError:
            return classify_all([])

    @cached_property
    def family(self) -> str:
        """The architecture: from the configuration, else from the weights; "" when neither says it."""
        try:
            if isinstance(family := self.config.get("model_family"), str) and family:
                return family
            return header.read(self.gguf).arch
        except Error:
            return ""

    @property
    def is_encoder(self) -> bool:
        """Whether it is an embedding model of a kind that bankml runs."""
        return self.family in ENCODERS

    def _blob(self, layer: Layer) -> Path:
        path = self.root / "blobs" / layer.blob_name
        try:
            status = path.stat()
        except PermissionError:
            raise _unreadable(path) from None
        except OSError:
            raise self._absent(path) from None
        if status.st_size != layer.size or layer.digest == EMPTY or not stat.S_ISREG(status.st_mode):
            raise self._broken(f"is {status.st_size} bytes of {layer.size}: its download was cut short", path)
        if not os.access(path, os.R_OK):
            raise _unreadable(path)
        return path

    def _read(self, layer: Layer, limit: int) -> bytes:
        path = self._blob(layer)
        if layer.size > limit:
            raise self._broken(f"is {layer.size} bytes, where at most {limit} make sense", path)
        return path.read_bytes()

    def _object(self, layer: Layer) -> dict[str, Any]:
        try:
            value = json.loads(self._read(layer, MAX_TEXT))
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise self._broken("is not a JSON object", self.root / "blobs" / layer.blob_name)
        return value

    def _absent(self, path: Path) -> ModelError:
        if any(path.parent.glob(f"{path.name}-partial*")):
            return ModelError(
                f"{self.name} is not wholly pulled yet: wait for `ollama pull {self.name}`, or run it again"
            )
        return self._broken("is missing", path)

    def _broken(self, what: str, path: Path) -> ModelError:
        return ModelError(f"{self.name}: the blob {path} {what}; run `ollama pull {self.name}` to repair it")


@dataclass(frozen=True)
class OllamaStore:
    """One folder with `manifests` and `blobs` in it."""

    root: Path

    def find(self, name: OllamaName) -> OllamaModel | None:
        """The model of this name, in any case. Raises ModelError when it is there and its manifest is damaged."""
        exact = self._manifest(name)
        try:
            if exact.is_file():
                return self._model(name)
        except PermissionError:
            raise _unreadable(exact) from None
        return next((self._model(other) for other in self.names() if other.matches(name)), None)

    def names(self) -> list[OllamaName]:
        """Every model's name, sorted. Files that are no manifest (copied from another system, say) are left out."""
        found = (OllamaName(*path.parts[-4:]) for path in self._manifest_files())
        return sorted((name for name in found if not name.invalid_part()), key=str)

    def models(self) -> Iterator[OllamaModel]:
        """Every model whose manifest is sound."""
        for name in self.names():
            try:
                yield self._model(name)
            except ModelError:
                continue

    def _manifest_files(self) -> list[Path]:
        try:
            return [path for path in (self.root / "manifests").glob("*/*/*/*") if path.is_file()]
        except PermissionError:
            return []

    def _manifest(self, name: OllamaName) -> Path:
        return self.root.joinpath("manifests", *name.parts)

    def _model(self, name: OllamaName) -> OllamaModel:
        path = self._manifest(name)
        try:
            if path.stat().st_size > MAX_MANIFEST:
                raise ModelError(
                    f"Ollama's manifest of {name} is larger than {MAX_MANIFEST} bytes: pull the model again"
                )
            content = path.read_bytes()
        except OSError:
            raise _unreadable(path) from None
        return OllamaModel(name, self.root, path, Manifest.parse(content, str(name)))


def roots(settings: Settings) -> list[Path]:
    """Where a store may be, likeliest first. OLLAMA_MODELS, when set, is the only place."""
    if settings.ollama_models:
        return [settings.ollama_models]
    return [Path.home() / ".ollama" / "models", *map(Path, SERVICE_FOLDERS)]


def stores(settings: Settings) -> list[OllamaStore]:
    """The stores of this machine that can be read."""
    return [OllamaStore(root) for root in roots(settings) if _state(root) == "readable"]


def unreadable(settings: Settings) -> list[Path]:
    """Stores that exist, or may, and that this user may not read."""
    return [root for root in roots(settings) if _state(root) == "unreadable"]


def find(name: str, settings: Settings) -> OllamaModel | None:
    """The model of this name in the first store that has it.

    Raises InputError for what is no model name, ModelError for a damaged manifest.
    """
    wanted = OllamaName.parse(name)
    return next((model for store in stores(settings) if (model := store.find(wanted))), None)


def models(settings: Settings) -> list[OllamaModel]:
    """Every model with a sound manifest; of two with one name, the one of the first store."""
    found: dict[str, OllamaModel] = {}
    for store in stores(settings):
        for model in store.models():
            found.setdefault(str(model.name).casefold(), model)
    return list(found.values())


def _state(root: Path) -> str:
    manifests = root / "manifests"
    try:
        if not stat.S_ISDIR(manifests.stat().st_mode):
            return "absent"
    except PermissionError:
        return "unreadable"
    except OSError:
        return "absent"
    return "readable" if os.access(manifests, os.R_OK | os.X_OK) else "unreadable"


def _unreadable(path: Path) -> ModelError:
    return ModelError(
        f"{path} may not be read by this user: join Ollama's group (sudo usermod -aG ollama $USER, then log in again), "
        "or copy the models to a folder of yours and set OLLAMA_MODELS to it"
    )
