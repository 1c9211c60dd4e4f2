"""A linked store as a query asks it: within a bounded time, and never written."""

import os
import sqlite3
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from bankml.embedders import Embedder
from bankml.errors import Error, StoreError, UnavailableError
from bankml.library.search.asking import Question
from bankml.library.search.searcher import Searcher
from bankml.library.search.state import State
from bankml.memory.recall.asked import Asked
from bankml.memory.recall.page import Page, page
from bankml.store import Bound, Store
from bankml.store.followed import Followed
from bankml.store.peers import Peer


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


@dataclass(slots=True)
class Answer:
    """What a peer's thread leaves: a page, or why there is none."""

    done: threading.Event = field(default_factory=threading.Event)
    page: Page | None = None
    why: str = ""


class Linked:
    """The store of one peer, open from query to query; asked in threads of their own, which nobody has to wait for."""

    def __init__(self, peer: Peer, make: Callable[[Path], _Opened] = _Opened.of) -> None:
        self.peer = peer
        self._followed = Followed(Path(os.fsdecode(peer.path)), make)
        self._asked: Answer | None = None

    def ask(self, asked: Asked, question: Question) -> Answer:
        """Begins to ask; while an earlier question is not answered, that is the answer."""
        if self._asked and not self._asked.done.is_set():
            busy = Answer(why="it still does not answer")
            busy.done.set()
            return busy
        self._asked = answer = Answer()
        threading.Thread(target=self._run, args=(answer, asked, question), daemon=True).start()
        return answer

    def close(self) -> None:
        """Ends what runs, unless it hangs: then its thread ends with the process."""
        if self._asked is None or self._asked.done.is_set():
            self._followed.close()

    def _run(self, answer: Answer, asked: Asked, question: Question) -> None:
        try:
            answer.page = self._followed.of_now(lambda opened: _page(opened, asked, question))
        except Error as error:
            answer.why = str(error)
        except OSError as error:
            answer.why = f"cannot be read ({error.strerror})"
        finally:
            answer.done.set()


def foreign(bound: Bound | None, fingerprint: str) -> bool:
    """Whether vectors of a store cannot be compared with those of `fingerprint`; one without a model has none yet."""
    return bound is not None and bound.fingerprint != fingerprint


def _page(opened: _Opened, asked: Asked, question: Question) -> Page:
    """Records of sessions are their own repository's."""
    outside = replace(asked, wanted=replace(asked.wanted, session=""))

    def read(db: sqlite3.Connection, state: State, question: Question) -> Page:
        if question.model is not None and foreign(bound := Bound.read(db), question.model.fingerprint):
            assert bound
            raise ProfileError(f"is on another profile ({bound.model_name})")
        return page(outside, db, state, question)

    return opened.searcher.given(question, read)


def _nobody() -> Embedder:
    raise UnavailableError("a linked store is asked with this one's vectors")
