"""Finding passages by words and by meaning."""

import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from types import TracebackType
from typing import Literal, Self, TypeVar, get_args

from bankml.embedders.embedder import Embedder
from bankml.errors import InputError, StoreError, UnavailableError
from bankml.library.model.configuration import place, stamp
from bankml.library.search import sentence
from bankml.library.search.approximate import LARGE
from bankml.library.search.asking import Asking, Question
from bankml.library.search.filters import Filters
from bankml.library.search.hit import Found
from bankml.library.search.state import RebindError, State
from bankml.library.search.words import CHARS
from bankml.store import Bound, Store
from bankml.terms import tokens

T = TypeVar("T")
Mode = Literal["words", "meaning", "fused"]

MOST = 1000  # results of a search
TRIES = 3  # searches of a store whose model is replaced meanwhile
REPLACED = "the model of {} is replaced again and again: ask when that has ended"


class Searcher:
    """One store, followed from search to search; safe to use from many threads, which take turns.

    `choose` gives the embedder; while it raises UnavailableError, words alone rank and the status says why. `large`:
    more vectors than that are searched by an index of neighbours, where there is one (`approximate`). What config.yaml
    asks for is followed from search to search.
    """

    def __init__(self, store: Store, choose: Callable[[], Embedder], large: int = LARGE) -> None:
        configured = place(store.path)
        self._asking = Asking(choose, lambda: stamp(configured))
        self._lock = threading.Lock()
        self._store = store
        self._state = State(store, large)

    def search(
        self,
        query: str,
        n: int = 10,
        mode: Mode = "fused",
        path: str | Sequence[str] | None = None,
        type: str | Sequence[str] | None = None,
        after: str | datetime | None = None,
        before: str | datetime | None = None,
        document: int | None = None,
        wait: float | None = None,
    ) -> Found:
        """The n best passages of those that pass all filters.

        `path`: globs, any of which may match (`bankml.library.search.glob`); `type`: "markdown", …, any of them;
        `after` and `before`: of the file's last change, that moment included and excluded; `document`: an id. `wait`:
        seconds to wait for the query's vector, which goes on being computed; None: as long as it takes.

        One state of the store is searched, whatever is written meanwhile. Raises InputError for what cannot be asked,
        MismatchError where another model is asked for than the store's, StoreError when it cannot be read.
        """
        check(query, n, mode)
        filters = Filters.of(path, type, after, before, document)
        if not tokens(query[:CHARS]):
            with self._lock, self._store.reading() as db:
                return Found([], sentence.sentence(0, self._state.total(db), sentence.NOTHING_ASKED))
        return self.asked(
            query, mode, wait, lambda db, state, question: state.search(db, query, n, mode, filters, question)
        )

    def asked(
        self, query: str, mode: Mode, wait: float | None, answer: Callable[[sqlite3.Connection, State, Question], T]
    ) -> T:
        """What `answer` makes of one state of the store and of the query's vector, or of why it has none.

        It is called with this searcher locked, and again where it raises RebindError. Raises as `search`.
        """
        for _ in range(TRIES):
            question = Question(why=sentence.AS_ASKED) if mode == "words" else self._asking.question(query, wait)
            if mode == "meaning" and question.vector is None and not question.pending:
                raise UnavailableError(question.why)
            with suppress(RebindError), self._lock, self._store.reading() as db:
                return answer(db, self._state, question)
            self._asking.forget()
        raise StoreError(REPLACED.format(self._store.path))

    def given(self, question: Question, answer: Callable[[sqlite3.Connection, State, Question], T]) -> T:
        """As `asked`, of a query whose vector another store's searcher has: for a store of the same model."""
        with self._lock, self._store.reading() as db:
            return answer(db, self._state, question)

    def embedder(self) -> Embedder:
        """Of the model that the store is bound to now: the one whose queries are searched. Raises Error."""
        for _ in range(TRIES):
            found = self._asking.model().embedder
            with self._store.reading() as db:
                bound = Bound.read(db)
            if bound is None or (bound.digest, bound.dims) == (found.digest, found.dims):
                return found
            self._asking.forget()
        raise StoreError(REPLACED.format(self._store.path))

    def marks(self, query: str) -> frozenset[str]:
        """As `Found.marks`, for a text that was not searched for. Raises StoreError."""
        with self._lock, self._store.reading() as db:
            return self._state.marks(db, query)

    def wants_neighbours(self) -> bool:
        """Whether the last search would have used an index of neighbours, which `bankml doctor --repair` makes."""
        with self._lock:
            return self._state.meaning.wants_neighbours()

    def close(self) -> None:
        """Lets go of the model, and leaves the vectors where the next process finds them at once."""
        self._asking.close()
        with self._lock:
            self._state.meaning.keep()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def check(query: object, n: object, mode: object) -> None:
    """Raises InputError for what no search can be asked."""
    if not isinstance(query, str):
        raise InputError(f"the query is of type {type(query).__name__}; give a str")
    if not isinstance(n, int) or not 1 <= n <= MOST:
        raise InputError(f"n is {n!r}; give a number of results from 1 to {MOST}")
    if mode not in get_args(Mode):
        raise InputError(f"mode is {mode!r}; give words, meaning or fused")
