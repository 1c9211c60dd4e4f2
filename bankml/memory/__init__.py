"""Memory that finds by meaning, over one default embedder: the names that programs of the original know."""

import os
import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bankml.cache import Cache
from bankml.embedders import default
from bankml.embedders.embedder import Cancelled, Floats
from bankml.errors import Error, InputError, UnavailableError
from bankml.fusion import RRF_K, rrf
from bankml.history import indexing
from bankml.history.background import Background
from bankml.history.indexing import Progress

Unavailable = UnavailableError

__all__ = ["Unavailable", "cached", "embed", "fuse", "index", "index_async", "publish", "query_vector", "status"]

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

_lock = threading.Lock()
_indexing: dict[Path, Background] = {}


def status() -> dict[str, Any]:
    """What embeds here: model, digest, bytes, licence, open, dims, provider; loaded; ready, or why not.

    Never raises and never loads the model. `why` is "" when it is ready; `notes` are sentences that the user of a
    history should know though it works.
    """
    try:
        return default.embedder().status()
    except (Error, OSError) as error:
        return {"ready": False, "why": str(error), "notes": [], **_UNKNOWN}


def embed(texts: Sequence[str], block: bool = True) -> Floats:
    """Vectors of documents: float32 (n, dims), unit length.

    Raises Unavailable saying why there is no model, BusyError with `block=False` when another call runs.
    """
    return default.embedder().embed(texts, block=block)


def query_vector(query: str) -> Floats | None:
    """The vector of a query, float32 (dims,), read-only; None when it has no words or the model is busy or not here."""
    if not isinstance(query, str):
        raise InputError(f"the query is of type {type(query).__name__}; give a str")
    if not query.strip():
        return None
    try:
        return default.queries().vector(query)
    except (Error, OSError):
        return None


def index(
    history: str | os.PathLike[str],
    records: Iterable[Mapping[str, Any]] | None = None,
    batch: int = 8,
    progress: Progress | None = None,
    *,
    allow_licence: Collection[str] = (),
) -> dict[str, int]:
    """Embeds what the cache beside a history lacks: {"embedded", "cached", "total", "skipped_lines"}.

    Of `records`, objects with `user` and `assistant`; None: of the file itself. `batch`: texts of a call at most;
    `progress(done, of)` is told after each. What is done stays done. Raises Unavailable, which LicenceError is, for
    a model whose licence is not known to be open unless `allow_licence` names it; InputError, StoreError.
    """
    embedder = default.embedder()
    done = indexing.index(Path(history), embedder, records, batch=batch, progress=progress, allow_licence=allow_licence)
    return asdict(done)


def index_async(
    history: str | os.PathLike[str],
    records: Iterable[Mapping[str, Any]] | None = None,
    *,
    allow_licence: Collection[str] = (),
) -> Background:
    """As `index`, in the background; while it runs for this history a second call starts nothing.

    Returns at once with what is under way: `running`, `done` of `total`, `error` (a sentence), `wait(seconds)`.
    """
    path = Path(os.path.abspath(history))
    texts = None if records is None else list(records)

    def work(progress: Progress, cancelled: Cancelled) -> object:
        embedder = default.embedder()
        return indexing.index(
            path, embedder, texts, progress=progress, cancelled=cancelled, allow_licence=allow_licence
        )

    with _lock:
        for ended in [each for each, under_way in _indexing.items() if not under_way.running]:
            del _indexing[ended]
        if path not in _indexing:
            _indexing[path] = Background(work)
            _indexing[path].start()
        return _indexing[path]


def cached(history: str | os.PathLike[str]) -> dict[str, Floats]:
    """What is embedded beside a history: the sha256 of each text → its vector, float32 (dims,), read-only.

    Of the current model alone; empty without one. Raises StoreError when the file cannot be read.
    """
    try:
        embedder = default.embedder()
        digest, dims = embedder.digest, embedder.dims
    except Error:
        return {}
    vectors = Cache(indexing.cache_path(Path(history))).vectors(digest, dims)
    keys = list(vectors)
    return dict(zip(keys, map(_read_only, vectors.matrix[vectors.rows(keys)]), strict=True))


def fuse(words: Sequence[int], meaning: Sequence[int], k: int = RRF_K) -> list[tuple[int, float]]:
    """Two rankings, best first, as one by reciprocal rank: (item, score); ties keep the words' order."""
    return rrf(words, meaning, k=k)


def publish(
    history: str | os.PathLike[str], agent: str, *, include_private: bool = False, **options: Any
) -> dict[str, Any]:
    """As `bankml.publish.publish`, with its options: {"exchanges", "embedded", "embedding" (the sentence), …}."""
    from bankml.publish import publish as to_database

    return to_database(history, agent, include_private=include_private, **options).json()


def _read_only(vector: Floats) -> Floats:
    vector.flags.writeable = False
    return vector
