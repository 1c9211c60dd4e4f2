"""One profile for all linked repositories: that of the store whose it is."""

import os
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bankml.errors import Error, InputError
from bankml.library.model import profiles
from bankml.library.model.configuration import MODEL, POOLING, PRESET, Configuration
from bankml.library.model.configure import change
from bankml.memory.workspace.peer import foreign
from bankml.memory.workspace.states import reindexing
from bankml.models import same
from bankml.settings import Settings
from bankml.store import Bound, Store, peers
from bankml.store.peers import Peer


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
    values, command = _values(store, bound), partial(_command, settings, bound)
    moved = []
    for peer in listed:
        moved.append(_moved(peer, values, bound, command))
        if done:
            done(moved[-1])
    return moved


def _values(store: Store, bound: Bound) -> dict[str, str | None]:
    """What a config.yaml says of the profile that this store's vectors are of, whatever is asked for meanwhile."""
    configuration = Configuration.read(store.path)
    profile, pooling = profiles.of_model(bound.model_name), configuration.pooling_of(bound.model_name)
    own = {
        "query_prefix": configuration.query_prefix,
        "document_prefix": configuration.document_prefix,
        POOLING: pooling,
    }
    if profile and not profile.graph and not pooling:
        return {PRESET: profile.name, **own}
    return {PRESET: profiles.CUSTOM, MODEL: bound.model_name, **own}


def _command(settings: Settings, bound: Bound, path: Path) -> str:
    """What makes a peer's vectors anew; the model's name is in it where the environment names another."""
    if settings.embed_model and not same(settings.embed_model, bound.model_name):
        return reindexing(path, f"--model {shlex.quote(bound.model_name)}")
    return reindexing(path)


def _moved(peer: Peer, values: dict[str, str | None], bound: Bound, command: Callable[[Path], str]) -> Moved:
    path = Path(os.fsdecode(peer.path))
    try:
        with Store.open(path) as other, other.reading() as db:
            theirs = Bound.read(db)
        change(path, values)
    except (Error, OSError) as error:
        return Moved(peer.name, str(path), str(error))
    return Moved(peer.name, str(path), "", command(path) if foreign(theirs, bound.fingerprint) else "")
