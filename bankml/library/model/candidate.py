"""Another model for a knowledge base: looked at, fetched and tried before config.yaml names it."""

from dataclasses import dataclass
from pathlib import Path

from bankml import models
from bankml.embedders import choose
from bankml.embedders.choice import UNSAID
from bankml.embedders.embedder import Embedder
from bankml.errors import InputError, ModelError, PoolingError
from bankml.library.model import binding, profiles
from bankml.library.model.configuration import MODEL, POOLING, POOLINGS, PRESET, Configuration
from bankml.library.model.configure import change
from bankml.library.model.profiles import CUSTOM
from bankml.models.description import describe
from bankml.models.names import is_path
from bankml.models.ollama_store import ENCODERS
from bankml.models.progress import Progress
from bankml.settings import Settings

PROBE = "The model is tried with this sentence: every layer reads its weights for it, and they must be finite."


@dataclass(frozen=True)
class Candidate:
    """A model that gives vectors here. `name` finds it again; `pooling` is what its file does not say, else None."""

    name: str
    pooling: str | None
    provider: str
    dims: int
    dtype: str
    pooled: str  # how token vectors become one; "" where Ollama decides
    document_prefix: str
    query_prefix: str
    licence: str


def candidate(
    name: str,
    settings: Settings,
    configuration: Configuration,
    pooling: str | None = None,
    progress: Progress | None = None,
) -> Candidate:
    """The model `name`, pulled and converted where it is missing; nothing is written but its own file.

    A graph that the engine does not run is refused before weights are fetched, where config.json says it. Raises
    PoolingError for a model that does not say its pooling and `pooling` is None, InputError for one that says another,
    ModelError and UnavailableError for one that is not to be had, or gives no finite vector.
    """
    if pooling not in (None, *POOLINGS):
        raise InputError(f"the pooling is {pooling!r}: give {', '.join(POOLINGS[:-1])} or {POOLINGS[-1]}")
    name = spelled(name, settings)
    added = None
    if settings.embed_provider != "ollama":  # which pulls for itself
        models.fetch(name, progress, pooling)
        added = _added(name, settings, pooling)
    found = choose(settings, name, prefixes=configuration.prefixes, pooling=added)
    try:
        return _tried(found, added, pooling)
    finally:
        found.close()


def switch(store: Path, candidate: Candidate) -> Configuration:
    """Makes it the model of the knowledge base at `store`: no preset decides any more. Raises StoreError."""
    return change(store, {PRESET: CUSTOM, MODEL: candidate.name, POOLING: candidate.pooling})


def spelled(name: str, settings: Settings) -> str:
    """The name, with hf: before owner/repo where nothing here goes by that. Raises InputError for a refused preset."""
    profile = profiles.find(name)
    if profile and profile.refusal:
        raise InputError(profile.refusal)
    if settings.embed_provider == "ollama" or is_path(name):
        return name
    try:
        models.choose(name, settings)
    except ModelError:
        if profile:
            return profile.model
        if name.count("/") == 1 and ":" not in name:
            return f"hf:{name}"
        raise
    return name


def _added(name: str, settings: Settings, pooling: str | None) -> str | None:
    """`pooling` where the file says none. Raises PoolingError, and InputError where it says another."""
    choice = models.choose(name, settings)
    found = describe(choice)
    if found.family not in ENCODERS:
        return None
    if found.pooling not in UNSAID:
        if pooling not in (None, found.pooling):
            raise InputError(
                f"{choice.path} says that its pooling is {found.pooling}, and {pooling} was asked for: leave it out"
            )
        return None
    if pooling is None:
        raise PoolingError(
            f"{choice.path} does not say how token vectors become one (it has no pooling type): see the model's card "
            f"and give --pooling {', '.join(POOLINGS[:-1])} or {POOLINGS[-1]}"
        )
    return pooling


def _tried(found: Embedder, added: str | None, pooling: str | None) -> Candidate:
    if pooling and found.provider == "ollama":
        raise InputError(f"{found.model} is run by Ollama, which pools as its file says: leave the pooling out")
    found.embed([PROBE])
    return Candidate(
        name=binding.storable(found.reference),
        pooling=added,
        provider=found.provider,
        dims=found.dims,
        dtype=found.dtype,
        pooled=found.pooling,
        document_prefix=found.document_prefix,
        query_prefix=found.query_prefix,
        licence=found.licence.id,
    )
