"""What each linked repository can answer now, and what to run where it cannot."""

import os
import shlex
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from bankml.errors import BusyError
from bankml.library.model.counts import Counts
from bankml.memory.workspace.peer import ADD_AGAIN, failure, foreign
from bankml.memory.workspace.workspace import PATIENCE
from bankml.store import Bound, Store, config, peers
from bankml.store.peers import Peer

ANSWERS, MISSING, LOCKED, UNUSABLE = "answers", "missing", "locked", "cannot be read"
OTHER, REPLACED, WORDS = "another profile", "another store", "words alone"


@dataclass(slots=True)
class State:
    """Of a peer. `why`: what is wrong and what to run; "" where it answers. `embedded`: of its `chunks`."""

    name: str
    path: str
    state: str
    why: str = ""
    model: str | None = None
    records: int = 0
    chunks: int = 0
    embedded: int = 0

    def object(self) -> dict[str, Any]:
        """As `bankml workspace list --json` prints it."""
        return asdict(self)


def states(store: Store, patience: float = PATIENCE) -> list[State]:
    """Of all peers, looked at at once: what does not say within `patience` seconds is locked, or its disk hangs."""
    with store.reading() as db:
        listed, bound = peers.listed(db), Bound.read(db)
    found = {peer: _unknown(peer) for peer in listed}
    threads = [
        threading.Thread(target=lambda peer=peer: found.__setitem__(peer, state(peer, bound)), daemon=True)
        for peer in listed
    ]
    for thread in threads:
        thread.start()
    _join(threads, patience)
    return [found[peer] for peer in listed]


def state(peer: Peer, bound: Bound | None) -> State:
    """Of one peer, beside a store of this model."""
    found = State(peer.name, os.fsdecode(peer.path), ANSWERS)
    path = Path(found.path)
    if not os.path.lexists(path):
        found.state, found.why = (
            MISSING,
            f"remove it (`bankml workspace remove {shlex.quote(peer.name)}`), or add its new place",
        )
        return found
    try:
        with Store.open(path, read_only=True) as other, other.reading() as db:
            theirs, counts, id = Bound.read(db), Counts.of(db), config.store_id(db)
    except BusyError as error:
        found.state, found.why = LOCKED, str(error)
        return found
    except Exception as error:
        found.state, found.why = UNUSABLE, failure(error)
        return found
    found.model = theirs.model_name if theirs else None
    found.records, found.chunks = sum(counts.records.values()), counts.chunks
    found.embedded = counts.embedded(theirs.fingerprint) if theirs else 0
    if id != peer.store_id:
        found.state, found.why = REPLACED, ADD_AGAIN
    elif bound and foreign(theirs, bound.fingerprint):
        found.state = OTHER
        found.why = f"run `bankml workspace repin-embedding`, then `{reindexing(path)}`"
    elif found.chunks and not found.embedded:
        found.state, found.why = WORDS, f"nothing has a vector: run `{reindexing(path)}`"
    return found


def reindexing(path: Path, what: str = "--vectors") -> str:
    """The command that makes the vectors of a store anew."""
    return f"bankml reindex {what} --db {shlex.quote(str(path))}"


def _unknown(peer: Peer) -> State:
    return State(
        peer.name, os.fsdecode(peer.path), LOCKED, "it does not answer: another process holds it, or its disk hangs"
    )


def _join(threads: Sequence[threading.Thread], patience: float) -> None:
    until = monotonic() + patience
    for thread in threads:
        thread.join(max(0.0, until - monotonic()))
