"""Which model a knowledge base is asked to use, and who asks."""

from dataclasses import dataclass
from pathlib import Path

from bankml.errors import InputError
from bankml.library.model.configuration import FILE, MODEL, PRESET, Configuration
from bankml.models import presets
from bankml.settings import Settings
from bankml.store import Store, config

FLAG, RECORD, DEFAULT = "--model", "the knowledge base", "default"


@dataclass(frozen=True)
class Wanted:
    """`by`: FLAG, the environment's variable, a key of config.yaml (the file itself for `model`), RECORD or DEFAULT."""

    name: str
    by: str

    @property
    def source(self) -> str:
        """`by` as the sentence on a mismatch has it."""
        return "config" if self.by == FILE else self.by


def asked(path: Path, settings: Settings, model: str | None = None, recorded: str | None = None) -> Wanted:
    """The model of the store at `path`: `model` (a flag), else the environment's, config.yaml's, `recorded`, MiniLM.

    In config.yaml a preset that is named goes before search.vector.model, and that before `model`, the older key.

    Raises StoreError for a config.yaml that cannot be read, whoever names a model: it is a mistake all the same; and
    InputError for an empty name.
    """
    configuration = Configuration.read(path)
    if model is not None:
        return Wanted(named(model), FLAG)
    if settings.embed_model:
        return Wanted(settings.embed_model, settings.embed_model_variable or "BANKML_EMBED_MODEL")
    if configured := configured_model(configuration):
        return configured
    return Wanted(recorded, RECORD) if recorded else Wanted(presets.DEFAULT.title, DEFAULT)


def configured_model(configuration: Configuration) -> Wanted | None:
    """What config.yaml alone asks for."""
    if profile := configuration.profile:
        return Wanted(profile.model, PRESET)
    if configuration.vector_model:
        return Wanted(configuration.vector_model, MODEL)
    return Wanted(configuration.model, FILE) if configuration.model else None


def wanted(store: Store, settings: Settings, model: str | None = None) -> Wanted:
    """As `asked`, with what the store has recorded."""
    with store.reading() as db:
        recorded = config.get(db, "model_name")
    return asked(store.path, settings, model, recorded)


def named(model: str) -> str:
    """The name. Raises InputError for an empty one."""
    if not model.strip():
        raise InputError(f"{FLAG} is {model!r}: give a model's name such as {presets.DEFAULT.title}, or leave it out")
    return model
