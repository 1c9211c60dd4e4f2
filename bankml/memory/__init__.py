"""Memory that finds by meaning, over one default embedder: the names that programs of the original know."""

import os
from collections.abc import Sequence
from typing import Any

from bankml.cache import Cache
from bankml.embedders import default
from bankml.embedders.embedder import Vectors
from bankml.errors import Error, InputError, UnavailableError
from bankml.fusion import RRF_K, rrf

Unavailable = UnavailableError

__all__ = ["Unavailable", "cached", "embed", "fuse", "query_vector", "status"]

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


def cached(history: str | os.PathLike[str]) -> dict[str, Vectors]:
    """What is embedded beside a history: the sha256 of each text → its vector, float32 (dims,), read-only.

    Of the current model alone; empty without one. Raises StoreError when the file cannot be read.
    """
    try:
        embedder = default.embedder()
        digest, dims = embedder.digest, embedder.dims
    except Error:
        return {}
    vectors = Cache(f"{os.fspath(history)}.emb").vectors(digest, dims)
    keys = list(vectors)
    return dict(zip(keys, map(_read_only, vectors.matrix[vectors.rows(keys)]), strict=True))


def fuse(words: Sequence[int], meaning: Sequence[int], k: int = RRF_K) -> list[tuple[int, float]]:
    """Two rankings, best first, as one by reciprocal rank: (item, score); ties keep the words' order."""
    return rrf(words, meaning, k=k)


def _read_only(vector: Vectors) -> Vectors:
    vector.flags.writeable = False
    return vector
