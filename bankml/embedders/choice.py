"""Which embedder: the model that is named or lies here, run by the engine if it can, else by the local Ollama."""

import os

from bankml.embedders.embedder import Embedder
from bankml.embedders.native import NativeEmbedder
from bankml.encoder import check_width
from bankml.errors import Error, UnavailableError
from bankml.models import Choice
from bankml.models import choose as choose_model
from bankml.models.description import Description, describe
from bankml.models.names import not_here
from bankml.models.ollama_store import ENCODERS
from bankml.models.prefixes import Override
from bankml.room import Room
from bankml.settings import Settings

UNSAID = ("", "none")  # the poolings of a file that gives a vector per token


def choose(
    settings: Settings | None = None,
    name: str | os.PathLike[str] | None = None,
    provider: str | None = None,
    prefixes: Override | None = None,
    pooling: str | None = None,
) -> Embedder:
    """The embedder of `name`, as in `bankml.load`.

    None: BANKML_EMBED_MODEL, else bge-m3 if it is here, else the built-in default. `provider`: "native" or "ollama";
    None: BANKML_EMBED_PROVIDER, else the engine if it runs the model. `prefixes`: instead of the family's.
    `pooling`: mean, cls or last, of a file that says none; what a file says counts, and Ollama asks nobody. Nothing is
    loaded and nothing downloaded. Raises UnavailableError saying why there is none.
    """
    try:
        settings = settings or Settings.read()
        provider = provider or settings.embed_provider
        if provider == "ollama":
            from bankml.embedders.ollama import of_name

            return of_name(settings, name, prefixes)
        return _native_first(settings, name, provider, prefixes, pooling)
    except UnavailableError:
        raise
    except (Error, OSError) as error:
        raise UnavailableError(str(error)) from None


def _native_first(
    settings: Settings,
    name: str | os.PathLike[str] | None,
    provider: str | None,
    prefixes: Override | None,
    pooling: str | None,
) -> Embedder:
    choice = choose_model(name, settings)
    if not choice.present:
        raise UnavailableError(str(not_here(choice.name, choice.pinned)))
    found = describe(choice)
    added = pooling if pooling and found.pooling in UNSAID else None
    if (why := _not_ours(choice, found, added)) is None:
        check_width(choice, found.dims)
        room = Room(settings.threads or None, settings.embed_need)
        return NativeEmbedder(
            choice,
            settings.embed_keep_alive,
            room,
            prefixes=prefixes,
            pooling=added,
            threads=settings.threads,
            backend=settings.backend,
        )
    if choice.ollama is None or provider == "native":
        raise UnavailableError(why)
    from bankml.embedders.ollama import of_store

    return of_store(choice.ollama, settings, prefixes)


def _not_ours(choice: Choice, found: Description, pooling: str | None) -> str | None:
    """Why the engine does not run it as an embedder; None where it does."""
    if found.family not in ENCODERS:
        family = found.family or "unknown"
        return f"{choice.name} is of the architecture {family}, which bankml does not run; name another model"
    if found.pooling == "none" and not pooling:
        return f"{choice.name} gives a vector per token, not per text; name a model with a pooling type"
    return None
