"""The vector of what somebody types: computed by a thread of its own, and only of the newest text."""

import threading
from dataclasses import dataclass, field

from bankml.embedders.embedder import Floats
from bankml.embedders.queries import QueryVectors
from bankml.errors import BusyError, Error
from bankml.leaving import leaving


@dataclass(eq=False, slots=True)
class _Question:
    text: str
    over: threading.Event = field(default_factory=threading.Event)
    vector: Floats | None = None
    error: Error | None = None


class Asked:
    """Safe to use from many threads."""

    def __init__(self, queries: QueryVectors) -> None:
        self.queries = queries
        self._lock = threading.Lock()
        self._working: _Question | None = None
        self._next: _Question | None = None

    def vector(self, query: str, wait: float | None) -> Floats:
        """The vector of a query, float32 (dims,).

        With `wait` None it is computed here, else waited for so many seconds: BusyError when it takes longer. It is
        computed all the same unless another query comes. Raises as `Embedder.embed` does.
        """
        if (known := self.queries.known(query)) is not None:
            return known
        if wait is None:
            return self.queries.vector(query)
        question = self._ask(query)
        if not question.over.wait(min(wait, threading.TIMEOUT_MAX)):
            raise BusyError("on its way")
        if question.vector is None:
            raise question.error or BusyError("on its way")
        return question.vector

    def _ask(self, text: str) -> _Question:
        with self._lock:
            for asked in (self._working, self._next):
                if asked and asked.text == text:
                    return asked
            if self._next:
                self._next.over.set()  # nobody types that any more
            question = self._next = _Question(text)
            if self._working is None:
                self._begin()
        return question

    def _begin(self) -> None:
        self._working, self._next = self._next, None
        try:
            threading.Thread(target=self._work, name="query-vector").start()
        except RuntimeError as error:  # the system refuses a thread
            if question := self._working:
                question.error = BusyError(f"not computed ({error})")
                question.over.set()
            self._working = None

    def _work(self) -> None:
        question = self._working
        while question:
            try:
                question.vector = self.queries.vector(question.text, block=True, cancelled=leaving)
            except Error as error:
                question.error = error
            except Exception as error:
                question.error = Error(f"{type(error).__name__}: {error}")
            with self._lock:
                over, question = question, self._next
                self._working, self._next = question, None
            over.over.set()
