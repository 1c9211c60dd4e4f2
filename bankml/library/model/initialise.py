"""Making a knowledge base: the store, its model pulled and converted, the record of it."""

import os
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

from bankml import models
from bankml.embedders import Embedder
from bankml.errors import NotFetchedError, UnavailableError
from bankml.library.model import binding
from bankml.library.model.binding import Record
from bankml.library.model.configuration import Configuration
from bankml.library.model.wanted import Wanted, asked, wanted
from bankml.models import notice
from bankml.models.licence import Licence
from bankml.models.progress import Progress
from bankml.settings import Settings
from bankml.store import Bound, Store, config


@dataclass(frozen=True)
class Initialised:
    """What came of it. `bound` is None, and `why` says so, where the model could not be had: words work without it."""

    path: Path
    created: bool
    model: str
    bound: Bound | None
    licence: Licence | None
    why: str


def initialise(
    path: Path, settings: Settings, model: str | None = None, progress: Progress | None = None
) -> Initialised:
    """The store at `path`, made where there is none, bound to the model that is asked for (else all-MiniLM-L6-v2).

    The model is pulled and converted where it is missing; `progress` as in `models.pull`. Where it cannot be had now,
    its name alone is recorded, and the first command that finds it binds it. A store that is there keeps all that it
    holds. Raises MismatchError where that is bound to another model, before anything is pulled; ModelError or
    UnavailableError for a model that is unknown or cannot be used, StoreError: then no store was made.
    """
    with _opened(path) as store:
        named = wanted(store, settings, model) if store else asked(path, settings, model)
        if store:
            _check_name(store, named, settings)
    name, found, why = _had(named, path, settings, progress)
    with Store.open(path) if store else Store.create(path) as made:
        _record(made, named, name, found)
        with made.reading() as db:
            bound, recorded = Bound.read(db), config.get(db, "model_name")
    return Initialised(path, store is None, recorded or name, bound, found.licence if found else None, why)


def missing(path: Path) -> bool:
    """Whether nothing is there, or an empty file, of which `Store.create` makes a store; never of another's file."""
    return not os.path.lexists(path) or (path.is_file() and path.stat().st_size == 0)


def _opened(path: Path) -> AbstractContextManager[Store | None]:
    return nullcontext() if missing(path) else Store.open(path)


def _check_name(store: Store, named: Wanted, settings: Settings) -> None:
    """Before anything is pulled for it."""
    with store.reading() as db:
        record = Record.read(db)
    with suppress(UnavailableError):  # its name is right, and it may have to be pulled
        binding.verified(record, named, Configuration.read(store.path), settings)


def _had(named: Wanted, path: Path, settings: Settings, progress: Progress | None) -> tuple[str, Embedder | None, str]:
    """The model by the name that finds it again, and its embedder, pulled where it is missing; or why there is none."""
    configuration = Configuration.read(path)
    if not configuration.vector_enabled:
        return named.name, None, binding.disabled(configuration)
    if settings.embed_provider == "ollama":  # which pulls for itself
        try:
            found = binding.chosen(named.name, configuration, settings)
            return found.reference, found, ""
        except UnavailableError as error:
            return named.name, None, str(error)
    choice = models.choose(named.name, settings)
    name = models.display(choice)
    if choice.preset and not choice.present and not settings.skip_model_download:  # which may take minutes
        notice.tell(f"model {name}: {choice.reason}")
    try:
        models.fetch(named.name, progress)
    except NotFetchedError as error:
        return name, None, str(error)
    return name, binding.chosen(named.name, configuration, settings), ""


def _record(store: Store, named: Wanted, name: str, found: Embedder | None) -> None:
    """Of a store that is bound already nothing is written, so that it may be read-only."""
    with store.reading() as db:
        if Bound.read(db):
            return binding.check(db, found, named) if found else None
    with store.writing() as db:
        if found:
            binding.check(db, found, named)
        else:
            binding.promise(db, name, named)
