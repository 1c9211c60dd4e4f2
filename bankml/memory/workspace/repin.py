"""One profile for all linked repositories: that of the store whose it is."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bankml.errors import Error, InputError
from bankml.library.model import profiles
from bankml.library.model.configuration import Configuration
from bankml.library.model.configure import change
from bankml.library.model.wanted import wanted
from bankml.memory.workspace.peer import foreign
from bankml.memory.workspace.states import reindexing
from bankml.settings import Settings
from bankml.store import Bound, Store, peers
from bankml.store.peers import Peer

PRESET, MODEL = "search.vector.preset", "search.vector.model"
PREFIXES = ("query_prefix", "document_prefix")  # part of a profile as the model is


@dataclass(frozen=True, slots=True)
class Moved:
    """Of a peer. `why`: it could not be moved. `reindex`: its vectors are of another profile; the command to run."""

    name: str
    path: str
    why: str = ""
    reindex: str = ""


def repin(store: Store, settings: Settings, done: Callable[[Moved], None] | None = None) -> list[Moved]:
    """Each peer's config.yaml asks for this store's model from now on; no vector is touched.

    What was moved stays moved, whatever happens to the next one. Raises InputError where this store has no model yet.
    """
    with store.reading() as db:
        listed, bound = peers.listed(db), Bound.read(db)
    if bound is None:
        raise InputError(f"{store.path} has no model yet: run `bankml init --db {store.path}`")
    values = _values(store, settings, bound)
    moved = []
    for peer in listed:
        moved.append(_moved(peer, values, bound))
        if done:
            done(moved[-1])
    return moved


def _values(store: Store, settings: Settings, bound: Bound) -> dict[str, str | None]:
    """What a config.yaml says of this store's profile."""
    configuration = Configuration.read(store.path)
    profile = configuration.profile or profiles.of_model(wanted(store, settings).name)
    own = {"query_prefix": configuration.query_prefix, "document_prefix": configuration.document_prefix}
    if profile and not profile.graph:
        return {PRESET: profile.name, **own}
    return {PRESET: profiles.CUSTOM, MODEL: bound.model_name, **own}


def _moved(peer: Peer, values: dict[str, str | None], bound: Bound) -> Moved:
    path = Path(os.fsdecode(peer.path))
    try:
        with Store.open(path) as other, other.reading() as db:
            theirs = Bound.read(db)
        change(path, values)
    except (Error, OSError) as error:
        return Moved(peer.name, str(path), str(error))
    return Moved(peer.name, str(path), "", reindexing(path) if foreign(theirs, bound.fingerprint) else "")
