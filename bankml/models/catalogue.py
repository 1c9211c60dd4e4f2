"""Every model that can be used here: built-ins, what was pulled from a hub, bankml's own files, Ollama's encoders."""

from bankml.errors import Error
from bankml.models import builtin, hub_store, ollama_store, pinned, presets, short_names
from bankml.models.description import Description, describe
from bankml.models.names import Choice, hub_choice, pinned_choice
from bankml.models.presets import Preset
from bankml.settings import Settings


def entries(settings: Settings | None = None) -> list[Description]:
    """What is known of each of `choices`, which may be little: a file may be absent or damaged."""
    return [_described(choice) for choice in choices(settings)]


def choices(settings: Settings | None = None) -> list[Choice]:
    """Built-ins first (pulled or not), a hub's models, bankml's own files, Ollama's embedding models that are whole.

    bge-m3 is listed before it is pulled too, unless Ollama's store has it.
    """
    settings = settings or Settings.read()
    built_in = [_built_in(preset, settings) for preset in presets.PRESETS]
    stored = _stored(settings)
    return [*built_in, *_pulled(settings, stored), *_files(settings), *stored]


def pullable(settings: Settings | None = None) -> list[str]:
    """Short names of a hub's encoders that are not here: what a pull would make a GGUF file of."""
    settings = settings or Settings.read()
    here = {choice.short for choice in _pulled(settings, []) if choice.short}
    return [known.name for known in short_names.SHORT_NAMES if known.runs and known not in here]


def _described(choice: Choice) -> Description:
    try:
        return describe(choice)
    except Error:
        return Description(choice, None)


def _built_in(preset: Preset, settings: Settings) -> Choice:
    return Choice(preset.name, "builtin", builtin.path(preset, settings), "a built-in", preset=preset)


def _pulled(settings: Settings, stored: list[Choice]) -> list[Choice]:
    known = pinned_choice(pinned.BGE_M3, settings, lambda kind: kind)
    others = [
        hub_choice(model, "a model pulled from a hub")
        for model in hub_store.models(settings)
        if not (known.present and model.path == known.path)
    ]
    offered = known.present or not any(pinned.find(choice.name) for choice in stored)
    return [known, *others] if offered else others


def _files(settings: Settings) -> list[Choice]:
    own = {preset.file_name for preset in presets.PRESETS}
    paths = sorted(path for path in settings.models.glob("*.gguf") if path.name not in own)
    return [Choice(path.stem, "file", path, "a file in bankml's folder") for path in paths]


def _stored(settings: Settings) -> list[Choice]:
    found = []
    for model in ollama_store.models(settings):
        try:
            if model.is_encoder:
                found.append(Choice(str(model.name), "ollama", model.gguf, "a model of Ollama's store", ollama=model))
        except Error:  # a blob that is missing or partial: `resolve` says what is wrong with it
            continue
    return found
