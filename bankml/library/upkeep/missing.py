"""Vectors for the chunks that lack one: of records written without the model, of runs that were cut short."""

import sqlite3
from collections.abc import Callable, Sequence
from time import monotonic

from bankml.embedders.batches import batches
from bankml.embedders.counting import Counting
from bankml.embedders.embedder import Cancelled, Embedder
from bankml.embedders.finite import finite
from bankml.errors import CancelledError
from bankml.library.model import binding
from bankml.library.model.fingerprint import fingerprint
from bankml.library.upkeep.reindexed import Reindexed, without
from bankml.store import Bound, Store, successor, vectors

MOST = 256  # texts of a transaction

Progress = Callable[[Reindexed], None]

LACKING = "id NOT IN (SELECT chunk_id FROM chunks_vec WHERE fingerprint = ?)"


def embed_missing(
    store: Store,
    embedder: Embedder,
    progress: Progress | None = None,
    cancelled: Cancelled | None = None,
    most: int = MOST,
) -> Reindexed:
    """Embeds the chunks without a vector of the store's model, and leaves the others as they are.

    `resumed`: those that had one. What is done stays done, whatever is raised: MismatchError where the store is of
    another model, CancelledError, UnavailableError, StoreError, BusyError. A store that is not bound yet is bound.
    """
    work = _Work(store, embedder)
    begun = monotonic()
    for keys in batches(work.begun(), most):
        if progress:
            progress(work.done)
        if cancelled and cancelled():
            raise CancelledError(f"the caller gave up when {work.done.embedded} chunks were embedded")
        work.embed(keys, cancelled)
    work.done.seconds = monotonic() - begun
    return work.ended()


class _Work:
    def __init__(self, store: Store, embedder: Embedder) -> None:
        self._store = store
        self._embedder = embedder
        self._recipe = fingerprint(embedder)
        self._failed: list[str] = []  # the keys of texts that have no vector

    def begun(self) -> list[str]:
        """The keys of what lacks a vector, once each, in the chunks' order."""
        with self._store.writing() as db:
            before = Bound.read(db)
            binding.check(db, self._embedder)
            bound = Bound.read(db)
        assert bound
        with self._store.reading() as db:
            (chunks,) = db.execute("SELECT count(*) FROM chunks").fetchone()
            (lacking,) = db.execute(f"SELECT count(*) FROM chunks WHERE {LACKING}", (self._recipe,)).fetchone()
            self.done = Reindexed(bound, before, chunks, resumed=chunks - lacking)
            rows = db.execute(f"SELECT key FROM chunks WHERE {LACKING} GROUP BY key ORDER BY min(id)", (self._recipe,))
            return [key for (key,) in rows]

    def embed(self, keys: Sequence[str], cancelled: Cancelled | None) -> None:
        with self._store.reading() as db:
            texts = successor.texts(db, keys)
        rows = finite(self._embedder, texts, self._failed.append, cancelled)
        with self._store.writing() as db:
            binding.check(db, self._embedder)
            found = [(chunk, at) for at, key in enumerate(texts) for chunk in self._chunks(db, key)]
            vectors.insert(db, [chunk for chunk, _ in found], self._recipe, rows[[at for _, at in found]])
        self.done.embedded += len(found)
        self._count(list(texts.values()))

    def ended(self) -> Reindexed:
        """The counts, with the chunks that have no vector now."""
        with self._store.reading() as db:
            self.done.without = without(db, self._failed, self._embedder.model)
        return self.done

    def _chunks(self, db: sqlite3.Connection, key: str) -> list[int]:
        """Those of this key that still lack a vector."""
        rows = db.execute(f"SELECT id FROM chunks WHERE key = ? AND {LACKING}", (key, self._recipe))
        return [chunk for (chunk,) in rows]

    def _count(self, texts: list[str]) -> None:
        self.done.texts += len(texts)
        if texts and isinstance(self._embedder, Counting):
            lengths, limit = self._embedder.count(texts), self._embedder.context_length
            self.done.tokens += sum(min(length, limit) for length in lengths)
            self.done.truncated += sum(length > limit for length in lengths)
