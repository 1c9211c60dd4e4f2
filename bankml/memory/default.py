"""The one embedder of this process, chosen anew when the environment or the model's file changed."""

import threading

from bankml.embedders import Embedder, choose
from bankml.embedders.queries import QueryVectors
from bankml.errors import InputError, UnavailableError
from bankml.settings import Settings


class Default:
    """Safe to use from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._settings: Settings | None = None
        self._queries: QueryVectors | None = None

    def embedder(self) -> Embedder:
        """Raises UnavailableError saying why there is none."""
        return self.queries().embedder

    def queries(self) -> QueryVectors:
        """The remembered vectors of its queries. Raises as `embedder`."""
        with self._lock:
            settings = _settings()
            if self._queries is None or self._settings != settings:
                before, self._queries = self._queries, None
                if before:
                    before.embedder.close()
                self._queries = QueryVectors(choose(settings))
                self._settings = settings
            return self._queries


DEFAULT = Default()


def _settings() -> Settings:
    try:
        return Settings.read()
    except InputError as error:
        raise UnavailableError(str(error)) from None
