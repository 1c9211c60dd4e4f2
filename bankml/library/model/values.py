"""Every setting of a knowledge base with the value that counts, and where it comes from."""

from dataclasses import dataclass
from pathlib import Path

from bankml.errors import UnavailableError
from bankml.library.model import binding, profiles
from bankml.library.model.configuration import CHECKS, ENABLED, FILE, MODEL, POOLING, PRESET, Configuration
from bankml.library.model.inspection import Kept
from bankml.library.model.profiles import CUSTOM, Profile
from bankml.library.model.wanted import DEFAULT, Wanted, asked
from bankml.library.model.yaml_edit import Value as Scalar
from bankml.settings import Settings

OF_MODEL = "the model"  # who says what config.yaml does not


@dataclass(frozen=True, slots=True)
class Value:
    """`by`: config.yaml or one of its keys, the environment's variable, the knowledge base, the model, default.

    `saved` is what config.yaml holds, whether it counts or not.
    """

    key: str
    value: Scalar | None
    by: str
    saved: Scalar | None = None

    @property
    def idle(self) -> bool:
        """Whether what is saved has no effect."""
        return self.saved is not None and self.saved != self.value


def values(path: Path, settings: Settings) -> list[Value]:
    """Of the store at `path`, which need not be there. Raises StoreError for a config.yaml that cannot be read."""
    configuration = Configuration.read(path)
    wanted = asked(path, settings, recorded=Kept.of(path).record.name)
    counts = _unsaid(configuration, wanted, settings)
    found = []
    for key, saved in configuration.said.items():
        if key == MODEL:
            found.append(Value(key, wanted.name, wanted.by, saved))
        elif saved is None or (key == POOLING and saved != counts[key][0]):
            found.append(Value(key, *counts[key], saved))
        else:
            found.append(Value(key, saved, FILE, saved))
    return sorted(found, key=lambda value: list(CHECKS).index(value.key))


def _unsaid(configuration: Configuration, wanted: Wanted, settings: Settings) -> dict[str, tuple[Scalar | None, str]]:
    """What counts where config.yaml says nothing."""
    profile = profiles.of_model(wanted.name)
    pooling, document, query = _of_model(wanted, profile, configuration, settings)
    return {
        "model": (None, DEFAULT),
        "query_prefix": (query, OF_MODEL),
        "document_prefix": (document, OF_MODEL),
        "chunk_tokens": (configuration.chunk_tokens, DEFAULT),
        "chunk_overlap": (configuration.chunk_overlap, DEFAULT),
        ENABLED: (True, DEFAULT),
        PRESET: (profile.name if profile else CUSTOM, wanted.by),
        POOLING: (pooling, OF_MODEL),
    }


def _of_model(
    wanted: Wanted, profile: Profile | None, configuration: Configuration, settings: Settings
) -> tuple[str | None, str | None, str | None]:
    """Its pooling and both prefixes; of one that is not here what a preset says of it."""
    try:
        found = binding.chosen(wanted.name, configuration, settings)
        return found.pooling or None, found.document_prefix, found.query_prefix
    except UnavailableError:
        if profile is None:
            return None, None, None
        return profile.pooling, profile.prefixes.document, profile.prefixes.query
