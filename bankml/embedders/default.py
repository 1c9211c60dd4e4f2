"""The one embedder of this process, chosen anew when the environment changed."""

import threading

from bankml.embedders.choice import choose
from bankml.embedders.embedder import Embedder
from bankml.embedders.queries import QueryVectors
from bankml.errors import InputError, UnavailableError
from bankml.settings import Settings

_lock = threading.Lock()
_chosen: tuple[Settings, QueryVectors] | None = None


def embedder() -> Embedder:
    """Raises UnavailableError saying why there is none; the next call looks again."""
    return queries().embedder


def queries() -> QueryVectors:
    """Its queries' vectors, the latest remembered. Raises as `embedder`."""
    global _chosen
    settings = _settings()
    with _lock:
        if _chosen is None or _chosen[0] != settings:
            if _chosen:
                _chosen[1].embedder.close()
            _chosen = None
            _chosen = settings, QueryVectors(choose(settings))
        return _chosen[1]


def _settings() -> Settings:
    try:
        return Settings.read()
    except InputError as error:
        raise UnavailableError(str(error)) from None
