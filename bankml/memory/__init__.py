"""Memory that finds by meaning, over one default embedder: the names that programs of the original know."""

from collections.abc import Sequence
from typing import Any

from bankml.embedders import default
from bankml.embedders.embedder import Vectors
from bankml.errors import Error, InputError, UnavailableError

Unavailable = UnavailableError

__all__ = ["Unavailable", "embed", "query_vector", "status"]

_UNKNOWN: dict[str, Any] = {
    "model": None,
    "digest": None,
    "dims": None,
    "bytes": None,
    "licence": None,
    "open": False,
    "provider": None,
    "loaded": False,
}


def status() -> dict[str, Any]:
    """What embeds here: model, digest, bytes, licence, open, dims, provider; loaded; ready, or why not.

    Never raises and never loads the model. `why` is "" when it is ready; `notes` are sentences that the user of a
    history should know though it works.
    """
    try:
        return default.embedder().status()
    except (Error, OSError) as error:
        return {"ready": False, "why": str(error), "notes": [], **_UNKNOWN}


def embed(texts: Sequence[str], block: bool = True) -> Vectors:
    """Vectors of documents: float32 (n, dims), unit length.

    Raises Unavailable saying why there is no model, BusyError with `block=False` when another call runs.
    """
    return default.embedder().embed(texts, block=block)


def query_vector(query: str) -> Vectors | None:
    """The vector of a query, float32 (dims,), read-only; None when it has no words or the model is busy or not here."""
    if not isinstance(query, str):
        raise InputError(f"the query is of type {type(query).__name__}; give a str")
    if not query.strip():
        return None
    try:
        return default.queries().vector(query)
    except (Error, OSError):
        return None
