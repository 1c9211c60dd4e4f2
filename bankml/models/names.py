"""Which model a name means, and which one is taken when none is named."""

import difflib
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from bankml.errors import Error, InputError, ModelError
from bankml.models import builtin, header, hub_name, hub_store, ollama_store, pinned, presets, short_names
from bankml.models.hub_name import HubName
from bankml.models.hub_store import HubModel
from bankml.models.licence import UNKNOWN, Licence, classify
from bankml.models.ollama_store import OllamaModel
from bankml.models.pinned import Pinned
from bankml.models.presets import Preset
from bankml.models.short_names import ShortName
from bankml.settings import Settings
from bankml.sizes import human

Reason = Callable[[str], str]  # the kind of model → the sentence why it was taken

LISTED = 12  # names in an error message


@dataclass(frozen=True)
class Choice:
    """A model, where its file lies (or, for one that was not pulled, will lie), and why it was chosen."""

    name: str
    kind: Literal["file", "builtin", "hub", "ollama"]
    path: Path
    reason: str  # one sentence to show to people
    preset: Preset | None = None
    ollama: OllamaModel | None = None
    hub: HubModel | None = None  # None for a hub's model that was not pulled
    pinned: Pinned | None = None  # of a hub's model whose bytes are known
    short: ShortName | None = None  # of a hub's model that people call by one

    @property
    def present(self) -> bool:
        """False only for a built-in or a hub's model that must be pulled first."""
        return self.hub is not None if self.kind == "hub" else self.preset is None or self.path.is_file()

    @property
    def repository(self) -> HubName | None:
        """The repository that a hub's model is to be pulled from, by its name alone; None where it is here."""
        if self.kind != "hub" or self.present or self.pinned:
            return None
        source = self.short.source if self.short else HubName.parse(self.name)
        return None if source.file else source

    @property
    def known(self) -> Preset | Pinned | None:
        """What is known of it beforehand."""
        return self.preset or self.pinned

    @property
    def aliases(self) -> tuple[str, ...]:
        """The other names it answers to."""
        here = (str(self.hub.name),) if self.hub else ()
        return (*(self.known.aliases if self.known else ()), *(self.short.names if self.short else ()), *here)

    @cached_property
    def licence(self) -> Licence:
        """As it is known, as Ollama's layers or the hub say, or the file's `general.license`; unknown when unsaid."""
        if self.known:
            return classify(self.known.licence)
        stated = self.ollama.licence if self.ollama else classify(self.hub.licence) if self.hub else UNKNOWN
        return stated if stated != UNKNOWN else _stated_licence(self.path)


def choose(name: str | os.PathLike[str] | None = None, settings: Settings | None = None) -> Choice:
    """The model that `name` means: an existing file, a built-in or its alias, a hub's file, a model of Ollama's store.

    bge-m3 is Ollama's, else the one pulled from a hub. None: BANKML_EMBED_MODEL, else bge-m3 if it is here, else
    all-minilm-l6-v2. Nothing is downloaded here.
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
    bge_m3 = pinned.BGE_M3
    try:
        choice = _pinned(bge_m3.name, bge_m3, settings, lambda kind: f"{kind}; no model was named")
        if choice.present:
            return choice
        why = f"no model was named, and {bge_m3.name} is neither in Ollama's store nor pulled"
    except ModelError as error:
        why = f"no model was named, and {bge_m3.name} cannot be used ({error})"
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
    if is_path(name):
        return _file(name, reason)
    try:
        choice = _known(name, settings, reason)
    except InputError as error:
        hint = "" if name.startswith(hub_name.PREFIX) else "; a file's name must end in .gguf or start with ./"
        raise ModelError(f"{error}{hint}") from None
    if choice is None:
        raise _unknown(name, settings)
    return choice


def is_path(name: str) -> bool:
    """Whether `choose` takes a name for a file's.

    An alias or a name in Ollama may hold a slash too; what can only be a path is one also where it leads nowhere.
    """
    if name.startswith(hub_name.PREFIX):
        return False
    only_path = name.startswith(("/", "./", "../", "~")) or name.lower().endswith(".gguf")
    return only_path or ("/" in name and os.path.isfile(os.path.expanduser(name)))


def _file(name: str, reason: Reason) -> Choice:
    path = Path(os.path.expanduser(name))
    if not os.path.isfile(path):
        raise _no_file(name, path)
    return Choice(path.stem, "file", path.absolute(), reason("a file"))


def _known(name: str, settings: Settings, reason: Reason) -> Choice | None:
    if preset := presets.find(name):
        return _built_in(preset, settings, reason("a built-in"))
    if name.startswith(hub_name.PREFIX):
        return _of_hub(HubName.parse(name), settings, reason)
    own = settings.models / f"{name}.gguf"
    if "/" not in name and os.path.isfile(own):
        return Choice(name, "file", own, reason("a file in bankml's folder"))
    if known := pinned.find(name):
        return _pinned(name, known, settings, reason)
    stored = _of_ollama(name, settings, reason)
    short = short_names.find(name)
    return stored if stored or not short else _of_hub(short.source, settings, reason)


def _of_hub(name: HubName, settings: Settings, reason: Reason) -> Choice:
    """The hub's model of this name, pulled or not."""
    if model := hub_store.find(name, settings):
        return hub_choice(model, reason("a model pulled from a hub"))
    short = short_names.of(name)
    called = short.name if short else str(name)
    return Choice(called, "hub", hub_store.place(name, settings), reason("a model of a hub"), short=short)


def hub_choice(model: HubModel, reason: str) -> Choice:
    """A model that was pulled, by its short name if it has one."""
    short = short_names.of(model.name)
    return Choice(short.name if short else str(model.name), "hub", model.path, reason, hub=model, short=short)


def _pinned(name: str, known: Pinned, settings: Settings, reason: Reason) -> Choice:
    """Ollama's model of this name, else the hub's: a damaged one of Ollama counts only where no other is here."""
    pulled = pinned_choice(known, settings, reason)
    try:
        stored = _of_ollama(name, settings, reason) or _of_ollama(known.name, settings, reason)
    except ModelError:
        if not pulled.present:
            raise
        stored = None
    return stored or pulled


def pinned_choice(known: Pinned, settings: Settings, reason: Reason) -> Choice:
    """The hub's model of these bytes, pulled or not."""
    source = HubName.parse(known.source)
    model = hub_store.find(source, settings)
    if model and model.sha256 == known.gguf_sha256:
        return Choice(known.name, "hub", model.path, reason("a model pulled from a hub"), hub=model, pinned=known)
    return Choice(known.name, "hub", hub_store.place(source, settings), reason("a model of a hub"), pinned=known)


def _of_ollama(name: str, settings: Settings, reason: Reason) -> Choice | None:
    if model := ollama_store.find(name, settings):
        reason_here = reason(f"a model of Ollama's store {model.root}")
        return Choice(str(model.name), "ollama", model.gguf, reason_here, ollama=model)
    return None


def _built_in(preset: Preset, settings: Settings, reason: str) -> Choice:
    if not builtin.present(preset, settings):
        reason += f" (pulled once: {human(preset.download_bytes)})"
    return Choice(preset.name, "builtin", builtin.path(preset, settings), reason, preset=preset)


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


def not_here(name: str, pinned: Pinned | None = None) -> ModelError:
    """The error for a model that can be pulled and was not."""
    if here := _files_here(name):
        return ModelError(
            f"{name} was not pulled by that name: run `bankml pull {name}`, or name a file of it that is here: "
            f"{', '.join(here[:LISTED])}"
        )
    remedy = f"run `bankml pull {name}`"
    if pinned:
        remedy += f" ({human(pinned.size)}) or `ollama pull {name}`"
    return ModelError(f"{name} is not on this machine: {remedy}, or name another model (`bankml models`)")


def _files_here(name: str) -> list[str]:
    """Of a repository that was not pulled by its own name, the files that were by theirs."""
    if not name.startswith(hub_name.PREFIX) or (parsed := HubName.parse(name)).file:
        return []
    return [str(model.name) for model in hub_store.files(parsed, Settings.read())]


def _unknown(name: str, settings: Settings) -> ModelError:
    built_in = [preset.name for preset in presets.PRESETS]
    stored = [str(model.name) for model in ollama_store.models(settings) if model.is_encoder]
    sentences = [f"no model {name!r} is on this machine"]
    if near := difflib.get_close_matches(name.casefold(), [*built_in, *stored], 1):
        sentences.append(f"did you mean {near[0]}?")
    sentences.append(f"built in: {', '.join(built_in)}")
    sentences.append(f"in Ollama's store: {', '.join(stored[:LISTED]) or 'no embedding model'}")
    sentences.extend(f"{root} may not be read by this user" for root in ollama_store.unreadable(settings))
    hub = f" or `bankml pull hf:{name}`" if name.count("/") == 1 and ":" not in name else ""
    sentences.append(f"or give the path of a GGUF file, or run `ollama pull {name}`{hub}")
    return ModelError("; ".join(sentences))
