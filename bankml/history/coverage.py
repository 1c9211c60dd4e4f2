"""How much of a history is embedded, and its cache without what it does not need."""

from dataclasses import dataclass
from pathlib import Path

from bankml.cache import Cache, Compacted, key
from bankml.embedders.embedder import Embedder
from bankml.history.exchange import Exchange
from bankml.history.file import History, opened
from bankml.history.indexing import cache_path


@dataclass(frozen=True, slots=True)
class Coverage:
    """`embedded`: exchanges with a vector of the model; `cached`: vectors of it, of exchanges that are gone too."""

    embedded: int
    cached: int
    total: int
    skipped_lines: int  # of the history
    skipped_vectors: int  # lines of its cache that are no vector


def coverage(path: Path, embedder: Embedder | None) -> Coverage:
    """Of the history at `path`. Raises StoreError when it cannot be read."""
    keys, skipped = _keys(path, embedder.document_prefix if embedder else "")
    if embedder is None:
        return Coverage(0, 0, len(keys), skipped, 0)
    vectors = Cache(cache_path(path)).vectors(embedder.digest, embedder.dims)
    return Coverage(sum(key in vectors for key in keys), len(vectors), len(keys), skipped, vectors.skipped)


def compact(path: Path, embedder: Embedder) -> Compacted:
    """Keeps of the cache what the exchanges of the history need. Raises StoreError; the cache is then as it was."""
    with opened(path):  # or the error comes even where nothing was embedded yet
        return Cache(cache_path(path)).compact(
            embedder.digest, embedder.dims, lambda: frozenset(_keys(path, embedder.document_prefix)[0])
        )


def _keys(path: Path, prefix: str) -> tuple[list[str], int]:
    """The key of every exchange, and how many lines are none."""
    history, keys = History(path), list[str]()

    def add(exchange: Exchange) -> None:
        keys.append(key(exchange.embedded(prefix)))

    history.follow(add, keys.clear)
    return keys, history.skipped
