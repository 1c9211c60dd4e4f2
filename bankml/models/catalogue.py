"""Every model that can be used here: built-ins, files in bankml's folder, embedding models of Ollama."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from bankml.errors import Error
from bankml.models import builtin, ollama_store, presets
from bankml.models.digest import sha256
from bankml.models.licence import Licence
from bankml.models.names import Choice
from bankml.models.presets import POOLINGS, Preset
from bankml.settings import Settings


@dataclass(frozen=True)
class ModelEntry:
    """One model of the list. What must be read from its file is read when it is first asked for."""

    choice: Choice

    @property
    def name(self) -> str:
        """The name that loads it."""
        return self.choice.name

    @property
    def kind(self) -> str:
        """ "builtin", "file" or "ollama"."""
        return self.choice.kind

    @property
    def present(self) -> bool:
        """Whether its file is on this machine."""
        return self.choice.present

    @property
    def size(self) -> int:
        """Bytes of the weights file; of a built-in that was not pulled, what it will be."""
        if self.choice.preset and not self.present:
            return self.choice.preset.size
        return self.choice.path.stat().st_size

    @property
    def licence(self) -> Licence:
        """As in Choice."""
        return self.choice.licence

    @property
    def dims(self) -> int:
        """Length of its vectors; 0 when the file does not say."""
        return self.choice.preset.dims if self.choice.preset else self._number("embedding_length")

    @property
    def context_length(self) -> int:
        """Tokens that it can read; 0 when the file does not say."""
        return self.choice.preset.context_length if self.choice.preset else self._number("context_length")

    @property
    def pooling(self) -> str:
        """ "mean", "cls", "last" or "none"; "" when the file does not say."""
        if self.choice.preset:
            return self.choice.preset.pooling
        number = self.metadata.get(f"{self._arch}.pooling_type")
        return POOLINGS[number] if isinstance(number, int) and 0 <= number < len(POOLINGS) else ""

    @cached_property
    def metadata(self) -> dict[str, Any]:
        """The file's own keys; empty when it is not there or cannot be read."""
        from bankml._engine import GGUF

        try:
            return GGUF(str(self.choice.path)).metadata if self.present else {}
        except Error:
            return {}

    @cached_property
    def digest(self) -> str:
        """sha256 of the weights file: read the first time, then remembered. Raises ModelError."""
        return sha256(self.choice.path)

    @property
    def _arch(self) -> str:
        return str(self.metadata.get("general.architecture", ""))

    def _number(self, key: str) -> int:
        value = self.metadata.get(f"{self._arch}.{key}", 0)
        return value if isinstance(value, int) else 0


def entries(settings: Settings | None = None) -> list[ModelEntry]:
    """Built-ins first (pulled or not), then bankml's own files, then Ollama's embedding models that are whole."""
    settings = settings or Settings.read()
    return [
        *(ModelEntry(_built_in(preset, settings)) for preset in presets.PRESETS),
        *(ModelEntry(choice) for choice in _files(settings)),
        *(ModelEntry(choice) for choice in _stored(settings)),
    ]


def _built_in(preset: Preset, settings: Settings) -> Choice:
    return Choice(preset.name, "builtin", builtin.path(preset, settings), "a built-in", preset=preset)


def _files(settings: Settings) -> list[Choice]:
    own = {preset.file_name for preset in presets.PRESETS}
    paths = sorted(path for path in settings.models.glob("*.gguf") if path.name not in own)
    return [Choice(path.stem, "file", path, "a file in bankml's folder") for path in paths]


def _stored(settings: Settings) -> list[Choice]:
    choices = []
    for model in ollama_store.models(settings):
        try:
            if model.is_encoder:
                choices.append(Choice(str(model.name), "ollama", model.gguf, "a model of Ollama's store", ollama=model))
        except Error:  # a blob that is missing or partial: `resolve` says what is wrong with it
            continue
    return choices
