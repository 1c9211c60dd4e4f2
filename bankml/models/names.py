"""Which model a name means, and which one is taken when none is named."""

import difflib
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from bankml.errors import Error, InputError, ModelError
from bankml.models import builtin, header, ollama_store, presets
from bankml.models.licence import UNKNOWN, Licence, classify
from bankml.models.ollama_name import OllamaName
from bankml.models.ollama_store import OllamaModel
from bankml.models.presets import Preset
from bankml.settings import Settings

Reason = Callable[[str], str]  # the kind of model → the sentence why it was taken

BGE_M3 = "bge-m3"
LISTED = 12  # names in an error message


@dataclass(frozen=True)
class Choice:
    """A model, where its file lies (or, for a built-in that was not pulled, will lie), and why it was chosen."""

    name: str
    kind: Literal["file", "builtin", "ollama"]
    path: Path
    reason: str  # one sentence to show to people
    preset: Preset | None = None
    ollama: OllamaModel | None = None

    @property
    def present(self) -> bool:
        """False only for a built-in that must be pulled first."""
        return self.preset is None or self.path.is_file()

    @cached_property
    def licence(self) -> Licence:
        """From the built-in's record, Ollama's licence layers, or the file's `general.license`; unknown when unsaid."""
        if self.preset:
            return classify(self.preset.licence)
        if self.ollama and self.ollama.licence != UNKNOWN:
            return self.ollama.licence
        return _stated_licence(self.path)


def choose(name: str | os.PathLike[str] | None = None, settings: Settings | None = None) -> Choice:
    """The model that `name` means: an existing file, a built-in or its alias, a model of Ollama's store.

    None: BANKML_EMBED_MODEL, else bge-m3 of Ollama's store, else all-minilm-l6-v2. Nothing is downloaded here.
    Raises ModelError for a name that nothing on this machine answers to, with the names that would work.
    """
    settings = settings or Settings.read()
    if name is None:
        return _default(settings)
    if isinstance(name, os.PathLike):
        return _file(os.fspath(name), _asked)
    if not isinstance(name, str) or not name:
        raise InputError(f"the model is {name!r}; give a path, a built-in's name or an Ollama name, or None")
    return _named(name, settings, _asked)


def _asked(kind: str) -> str:
    return f"{kind}, as asked"


def _default(settings: Settings) -> Choice:
    if settings.embed_model:
        return _named(settings.embed_model, settings, lambda kind: f"{kind}, named by {settings.embed_model_variable}")
    try:
        if (model := ollama_store.find(BGE_M3, settings)) is not None:
            return _stored(model, f"found in Ollama's store {model.root}; no model was named")
        why = f"no model was named and Ollama's store has no {BGE_M3}"
    except ModelError as error:
        why = f"no model was named and {BGE_M3} cannot be used ({error})"
    return _built_in(presets.DEFAULT, settings, f"the built-in default: {why}")


def find(name: str, settings: Settings | None = None) -> Choice | None:
    """The model of this name that is on this machine, else None. Paths do not count: a server's clients may ask this.

    Raises ModelError for a model that is here and damaged.
    """
    try:
        choice = _known(name, settings or Settings.read(), _asked)
    except InputError:
        return None
    return choice if choice and choice.present else None


def _named(name: str, settings: Settings, reason: Reason) -> Choice:
    if name.startswith("hf:"):
        raise ModelError(
            f"{name!r}: models are not fetched from a hub yet; download the GGUF file and give its path, "
            "or `ollama pull` the model and give its name there"
        )
    if "/" in name or name.lower().endswith(".gguf"):
        # An alias or a name in Ollama may hold a slash too; what can only be a path is one that leads nowhere.
        only_path = name.startswith(("/", "./", "../", "~")) or name.lower().endswith(".gguf")
        if only_path or os.path.isfile(os.path.expanduser(name)):
            return _file(name, reason)
    try:
        choice = _known(name, settings, reason)
    except InputError as error:
        raise ModelError(f"{error}; a file's name must end in .gguf or start with ./") from None
    if choice is None:
        raise _unknown(name, settings)
    return choice


def _file(name: str, reason: Reason) -> Choice:
    path = Path(os.path.expanduser(name))
    if not os.path.isfile(path):
        raise _no_file(name, path)
    return Choice(path.stem, "file", path.absolute(), reason("a file"))


def _known(name: str, settings: Settings, reason: Reason) -> Choice | None:
    if preset := presets.find(name):
        return _built_in(preset, settings, reason("a built-in"))
    wanted = OllamaName.parse(name)
    if (own := settings.models / f"{wanted.model}.gguf").is_file() and name == wanted.model:
        return Choice(name, "file", own, reason("a file in bankml's folder"))
    if model := ollama_store.find(name, settings):
        return _stored(model, reason(f"a model of Ollama's store {model.root}"))
    return None


def _built_in(preset: Preset, settings: Settings, reason: str) -> Choice:
    if not builtin.present(preset, settings):
        reason += f" (pulled once: {preset.download_bytes // 10**6} MB)"
    return Choice(preset.name, "builtin", builtin.path(preset, settings), reason, preset=preset)


def _stored(model: OllamaModel, reason: str) -> Choice:
    return Choice(str(model.name), "ollama", model.gguf, reason, ollama=model)


def _stated_licence(path: Path) -> Licence:
    try:
        stated = header.read(path).metadata.get("general.license")
    except Error:
        return UNKNOWN
    return classify(stated) if isinstance(stated, str) else UNKNOWN


def _no_file(name: str, path: Path) -> ModelError:
    if os.path.isdir(path):
        return ModelError(
            f"{name!r} is a folder: give the path of a GGUF file in it, or make one with `bankml convert {name} -o …`"
        )
    if os.path.exists(path):
        return ModelError(f"{name!r} is not a regular file, and a model is mapped into memory: copy it into one first")
    return ModelError(
        f"there is no file {name!r}: check the path, or give a built-in's name such as {presets.DEFAULT.name}"
    )


def _unknown(name: str, settings: Settings) -> ModelError:
    built_in = [preset.name for preset in presets.PRESETS]
    stored = [str(model.name) for model in ollama_store.models(settings) if model.is_encoder]
    sentences = [f"no model {name!r} is on this machine"]
    if near := difflib.get_close_matches(name.casefold(), [*built_in, *stored], 1):
        sentences.append(f"did you mean {near[0]}?")
    sentences.append(f"built in: {', '.join(built_in)}")
    sentences.append(f"in Ollama's store: {', '.join(stored[:LISTED]) or 'no embedding model'}")
    sentences.extend(f"{root} may not be read by this user" for root in ollama_store.unreadable(settings))
    sentences.append(f"or give the path of a GGUF file, or run `ollama pull {name}`")
    return ModelError("; ".join(sentences))
