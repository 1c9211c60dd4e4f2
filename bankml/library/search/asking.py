"""The vector of a query, by the model that the store is bound to."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

from bankml.embedders.embedder import Embedder, Floats
from bankml.errors import BusyError, Error, StoreError
from bankml.library.search.choosing import Choosing
from bankml.library.search.model import Model

LEAST = 0.05  # seconds: which model it is, or why there is none, is known by then if nothing large must be read


@dataclass(frozen=True, slots=True)
class Question:
    """`why` there is no vector; `pending`: it is being computed. `model`: whose, as far as it is known."""

    vector: Floats | None = None  # (dims,)
    why: str = ""
    pending: bool = False
    model: Model | None = None


class Asking:
    """`choose` gives the embedder: looked for again while there is none, and when the store is bound to another.

    `stamp` is another one when what `choose` goes by has changed.
    """

    def __init__(self, choose: Callable[[], Embedder], stamp: Callable[[], object] = lambda: None) -> None:
        self._choose = choose
        self._stamp = stamp
        self._seen: object = None
        self._lock = threading.Lock()
        self._model: Model | None = None
        self._forgotten: Model | None = None
        self._choosing: Choosing | None = None

    def question(self, query: str, wait: float | None) -> Question:
        """The query with its vector, or with why it has none. Raises StoreError, a MismatchError among them."""
        until = None if wait is None else monotonic() + wait
        try:
            model = self.model(wait)
        except StoreError:
            raise
        except BusyError as error:
            return Question(why=f"the meaning is {error}", pending=wait is not None)
        except Error as error:
            return Question(why=str(error))
        try:
            return Question(model.vector(query, None if until is None else max(0.0, until - monotonic())), model=model)
        except BusyError as error:
            return Question(why=f"the meaning is {error}", pending=wait is not None, model=model)
        except Error as error:
            return Question(why=str(error), model=model)

    def model(self, wait: float | None = None) -> Model:
        """Raises Error where there is none, BusyError where it takes longer than `wait` seconds to say."""
        self._follow()
        with self._lock:
            if self._model:
                return self._model
            choosing = self._choosing = self._choosing or self._begun()
        try:
            found = choosing.result(None if wait is None else max(wait, LEAST))
        except BaseException:
            with self._lock:
                if choosing.over and self._choosing is choosing:
                    self._choosing = None
            raise
        with self._lock:
            if self._choosing is choosing:  # else it was forgotten meanwhile, or another thread was first
                self._choosing, self._model = None, found
            self._close_forgotten()
            return self._model or found

    def forget(self) -> None:
        """The store is bound to another one now, or another is asked for."""
        with self._lock:
            self._forgotten, self._model = self._model or self._forgotten, None
            self._choosing = None

    def close(self) -> None:
        """Lets go of the model, which the next question would load again."""
        with self._lock:
            self._close_forgotten()
            if self._model:
                self._model.embedder.close()

    def _follow(self) -> None:
        now = self._stamp()
        with self._lock:
            changed, self._seen = now != self._seen, now
        if changed:
            self.forget()

    def _begun(self) -> Choosing:
        choosing = Choosing(self._choose)
        choosing.begin()
        return choosing

    def _close_forgotten(self) -> None:
        """Unless it is what was chosen again."""
        if self._forgotten and not (self._model and self._model.embedder is self._forgotten.embedder):
            self._forgotten.embedder.close()
        self._forgotten = None
