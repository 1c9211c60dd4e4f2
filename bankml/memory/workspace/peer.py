"""A linked store as a query asks it: within a bounded time, and never written."""

import os
import sqlite3
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic

from bankml.embedders import Embedder
from bankml.errors import Error, StoreError, UnavailableError
from bankml.library.search.asking import Question
from bankml.library.search.searcher import Searcher
from bankml.library.search.state import State
from bankml.memory.recall.asked import Asked
from bankml.memory.recall.page import Page, page
from bankml.store import Bound, Record, Store, config
from bankml.store.followed import Followed
from bankml.store.peers import Peer
from bankml.store.record import Freshness
from bankml.utf8 import printable

ADD_AGAIN = "another knowledge base lies there now: add it again"
SHOWN = 120  # characters of an error that is none of ours


class ProfileError(StoreError):
    """A linked store's vectors are of another model, or of another recipe."""


@dataclass(frozen=True)
class _Opened:
    """The store, read-only, with its searcher."""

    store: Store
    searcher: Searcher

    @classmethod
    def of(cls, path: Path) -> "_Opened":
        store = Store.open(path, read_only=True)
        return cls(store, Searcher(store, _nobody))

    def close(self) -> None:
        self.searcher.close()
        self.store.close()


@dataclass(frozen=True, slots=True)
class Found:
    """A page of a peer, and how fresh each of its records is now, by id."""

    page: Page
    freshness: Mapping[str, Freshness]

    def seen(self, record: Record) -> Freshness:
        """As it was looked at in the peer's own thread."""
        return self.freshness[record.id]


@dataclass(slots=True, eq=False)
class Answer:
    """What a peer's thread leaves: what it found, or why there is nothing (yet)."""

    begun: float = field(default_factory=monotonic)
    done: threading.Event = field(default_factory=threading.Event)
    found: Found | None = None
    why: str = "it does not answer"


class Linked:
    """The store of one peer, open from query to query; asked in threads of their own, which nobody has to wait for."""

    def __init__(self, peer: Peer, make: Callable[[Path], _Opened] = _Opened.of) -> None:
        self.peer = peer
        self._followed = Followed(Path(os.fsdecode(peer.path)), make)
        self._lock = threading.Lock()
        self._running: list[Answer] = []
        self._closed = False

    def ask(self, asked: Asked, question: Question, seen: Callable[[Record], Freshness], patience: float) -> Answer:
        """Begins to ask; where an earlier question is older than `patience` seconds, that is the answer.

        `seen`: a record's freshness now. Threads that hang are at most as many as ask at once.
        """
        answer = Answer()
        with self._lock:
            if any(answer.begun - one.begun >= patience for one in self._running):
                answer.why = "it still does not answer"
                answer.done.set()
                return answer
            self._running.append(answer)
        try:
            threading.Thread(target=self._run, args=(answer, asked, question, seen), daemon=True).start()
        except RuntimeError as error:
            answer.why = f"no thread can be begun to ask it ({error})"
            self._end(answer)
        return answer

    def close(self) -> None:
        """Lets go of the store; where a thread uses it, that one does so at its end, if it ever ends."""
        with self._lock:
            self._closed = True
            if self._running:
                return
        self._followed.close()

    def _run(self, answer: Answer, asked: Asked, question: Question, seen: Callable[[Record], Freshness]) -> None:
        try:
            page = self._followed.of_now(lambda opened: _page(self.peer, opened, asked, question))
            answer.why = "the files that its records cite take too long to look at"
            answer.found = Found(page, {record.id: seen(record) for record in page.records.values()})
        except Exception as error:  # nobody else could tell it
            answer.why = failure(error)
        finally:
            self._end(answer)

    def _end(self, answer: Answer) -> None:
        with self._lock:
            self._running.remove(answer)
            last = self._closed and not self._running
        answer.done.set()
        if last:
            self._followed.close()


def failure(error: Exception) -> str:
    """What kept a peer from answering, in one sentence."""
    if isinstance(error, Error):
        return str(error)
    why = error.strerror if isinstance(error, OSError) else f"{type(error).__name__}: {error}"
    return f"it cannot be read ({printable(' '.join(str(why).split()))[:SHOWN]})"


def foreign(bound: Bound | None, fingerprint: str) -> bool:
    """Whether vectors of a store cannot be compared with those of `fingerprint`; one without a model has none yet."""
    return bound is not None and bound.fingerprint != fingerprint


def _page(peer: Peer, opened: _Opened, asked: Asked, question: Question) -> Page:
    """Records of sessions are their own repository's. Raises StoreError for another store in the peer's place."""
    outside = replace(asked, wanted=replace(asked.wanted, session=""))

    def read(db: sqlite3.Connection, state: State, question: Question) -> Page:
        if config.store_id(db) != peer.store_id:
            raise StoreError(ADD_AGAIN)
        if question.model is not None and foreign(bound := Bound.read(db), question.model.fingerprint):
            assert bound
            raise ProfileError(f"is on another profile ({bound.model_name})")
        return page(outside, db, state, question)

    return opened.searcher.given(question, read)


def _nobody() -> Embedder:
    raise UnavailableError("a linked store is asked with this one's vectors")
