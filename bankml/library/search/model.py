"""A model as a searcher uses it."""

from typing import TYPE_CHECKING

from bankml.embedders.embedder import Embedder, Floats
from bankml.embedders.queries import QueryVectors
from bankml.library.model.fingerprint import fingerprint

if TYPE_CHECKING:
    from bankml.embedders.asked import Asked


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
