"""The vector of a query, by the model that the store is bound to."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bankml.embedders.embedder import Embedder, Floats
from bankml.embedders.queries import QueryVectors
from bankml.errors import BusyError, Error, StoreError
from bankml.library.model.fingerprint import fingerprint

if TYPE_CHECKING:
    from bankml.embedders.asked import Asked


@dataclass(frozen=True, slots=True)
class Question:
    """`why` there is no vector; `pending`: it is being computed. `model`: whose, as far as it is known."""

    vector: Floats | None = None  # (dims,)
    why: str = ""
    pending: bool = False
    model: "Model | None" = None


class Model:
    """An embedder, what its vectors are recorded under, and the queries that it has embedded."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self.fingerprint = fingerprint(embedder)
        self._queries = QueryVectors(embedder)
        self._asked: Asked | None = None

    def vector(self, query: str, wait: float | None) -> Floats:
        """As `QueryVectors.vector`; `wait`: BusyError after so many seconds, while it goes on being computed."""
        if wait is None:
            return self._queries.vector(query, block=True)
        if self._asked is None:
            from bankml.embedders.asked import Asked

            self._asked = Asked(self._queries)
        return self._asked.vector(query, wait)


class Asking:
    """`choose` gives the embedder: looked for again while there is none, and when the store is bound to another."""

    def __init__(self, choose: Callable[[], Embedder]) -> None:
        self._choose = choose
        self._lock = threading.Lock()
        self._model: Model | None = None

    def question(self, query: str, wait: float | None) -> Question:
        """The query with its vector, or with why it has none. Raises StoreError, a MismatchError among them."""
        try:
            model = self.model()
        except StoreError:
            raise
        except Error as error:
            return Question(why=str(error))
        try:
            return Question(model.vector(query, wait), model=model)
        except BusyError as error:
            return Question(why=f"the meaning is {error}", pending=wait is not None, model=model)
        except Error as error:
            return Question(why=str(error), model=model)

    def model(self) -> Model:
        """Raises Error where there is none."""
        with self._lock:
            if self._model is None:
                self._model = Model(self._choose())
            return self._model

    def forget(self) -> None:
        """The store is bound to another one now."""
        with self._lock:
            self._model = None

    def close(self) -> None:
        """Lets go of the model, which the next question would load again."""
        with self._lock:
            if self._model:
                self._model.embedder.close()
