"""Queries that linked repositories answer together."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from time import monotonic

from bankml.library.search.searcher import Searcher
from bankml.memory.recall.answered import answered
from bankml.memory.recall.asked import Asked
from bankml.memory.recall.judged import Calibration
from bankml.memory.recall.recalled import Recalled
from bankml.memory.recall.recaller import Recaller
from bankml.memory.workspace.peer import Answer, Found, Linked
from bankml.store import Record, Store, peers
from bankml.store.peers import Peer
from bankml.store.record import Freshness

PATIENCE = 2.0  # seconds for all peers together; of 10,000 records a page takes 10 ms


class Workspace(Recaller):
    """As a Recaller of `store`, whose peers answer too; without peers it is one. Safe to use from many threads.

    Peers are ranked with the asker's own records where they share its profile. One that is missing, busy, damaged, slow
    or on another profile is named in the status, and the rest answers within `patience` seconds more.
    """

    def __init__(
        self,
        store: Store,
        searcher: Searcher,
        seen: Callable[[Record], Freshness] | None = None,
        calibrated: Callable[[str], Calibration | None] | None = None,
        patience: float = PATIENCE,
    ) -> None:
        super().__init__(searcher, seen, calibrated)
        self._store = store
        self._patience = patience
        self._linked: dict[Peer, Linked] = {}
        self._lock = threading.Lock()

    def close(self) -> None:
        """Lets go of the peers' stores."""
        with self._lock:
            self._followed(())

    def _answered(self, asked: Asked, wait: float | None) -> Recalled:
        own = self._page(asked, wait)
        with self._store.reading() as db:
            listed = peers.listed(db)
        with self._lock:
            asking = [
                (linked.peer.name, linked.ask(asked, own.question, self.look(), self._patience))
                for linked in self._followed(listed)
            ]
        self._wait([answer for _, answer in asking])
        answers = [(name, answer.found, answer.why) for name, answer in asking]  # of one moment: some may still come
        sources = [self._source(own)]
        sources += [replace(self._source(found.page, name), seen=found.seen) for name, found, _ in answers if found]
        return answered(asked, sources, notes(answers))

    def _followed(self, listed: Sequence[Peer]) -> list[Linked]:
        """What is open of the peers that there are now."""
        before, self._linked = self._linked, {peer: self._linked.get(peer) or Linked(peer) for peer in listed}
        for peer, linked in before.items():
            if peer not in self._linked:
                linked.close()
        return list(self._linked.values())

    def _wait(self, answers: Sequence[Answer]) -> None:
        until = monotonic() + self._patience
        for answer in answers:
            answer.done.wait(max(0.0, until - monotonic()))


def notes(answers: Sequence[tuple[str, Found | None, str]]) -> list[str]:
    """For the status: who answered with this store, and who did not, with why."""
    with_us = [name for name, found, _ in answers if found]
    told = [f"with {', '.join(with_us)}"] if with_us else []
    return told + [f"without {name}: {why}" for name, found, why in answers if not found]
