"""Every model that can be used here: built-ins, files in bankml's folder, embedding models of Ollama."""

from bankml.errors import Error
from bankml.models import builtin, ollama_store, presets
from bankml.models.description import Description, describe
from bankml.models.names import Choice
from bankml.models.presets import Preset
from bankml.settings import Settings


def entries(settings: Settings | None = None) -> list[Description]:
    """What is known of each of `choices`, which may be little: a file may be absent or damaged."""
    return [_described(choice) for choice in choices(settings)]


def choices(settings: Settings | None = None) -> list[Choice]:
    """Built-ins first (pulled or not), then bankml's own files, then Ollama's embedding models that are whole."""
    settings = settings or Settings.read()
    built_in = [_built_in(preset, settings) for preset in presets.PRESETS]
    return [*built_in, *_files(settings), *_stored(settings)]


def _described(choice: Choice) -> Description:
    try:
        return describe(choice)
    except Error:
        return Description(choice, None)


def _built_in(preset: Preset, settings: Settings) -> Choice:
    return Choice(preset.name, "builtin", builtin.path(preset, settings), "a built-in", preset=preset)


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
