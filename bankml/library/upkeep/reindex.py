"""Every chunk embedded anew, while searches use the vectors that are there: all of these are replaced at once, or none.

New vectors come beside the old in a transaction a batch, so that an interrupted run is gone on with by the next one of
the same recipe. The last transaction sees that no chunk lacks one, puts them in place and records their model.
"""

import sqlite3
from collections.abc import Callable, Sequence
from time import monotonic

from bankml.embedders.batches import batches
from bankml.embedders.counting import Counting
from bankml.embedders.embedder import Cancelled, Embedder
from bankml.embedders.finite import finite
from bankml.errors import CancelledError, NotFiniteError, StoreError
from bankml.library.model.binding import storable
from bankml.library.model.fingerprint import fingerprint
from bankml.library.upkeep import room
from bankml.library.upkeep.reindexed import Reindexed, without
from bankml.library.upkeep.sole import sole
from bankml.sizes import human
from bankml.store import Bound, Store, successor, vectors
from bankml.store.faults import full

MOST = 256  # texts of a batch

Progress = Callable[[Reindexed], None]


def reindex(
    store: Store,
    embedder: Embedder,
    progress: Progress | None = None,
    cancelled: Cancelled | None = None,
    most: int = MOST,
) -> Reindexed:
    """Replaces the vectors of all chunks by those of `embedder`, and the store's model by its model.

    `most`: texts of a transaction. Texts that have no vector are left without one and told, if that is not most of
    them. Whatever is raised, the old vectors and the old model are in place, and what was made is kept for the next
    call with this recipe: BusyError when another process reindexes, CancelledError, UnavailableError, StoreError,
    NotFiniteError when more than half of the chunks would be without a vector.
    """
    with sole(store.path):
        return _Run(store, embedder, progress or (lambda _: None), cancelled or (lambda: False), most).run()


def discard(store: Store) -> int:
    """Gives the room of what an interrupted run has made to what is stored next; how many chunks' vectors that was.

    Raises BusyError when it is not interrupted but at work, StoreError; on a full disk a little must be freed first.
    """
    with sole(store.path), store.writing() as db:
        found = successor.unfinished(db)
        successor.discard(db)
    return found.chunks if found else 0


class _Run:
    """One call of `reindex`."""

    def __init__(self, store: Store, embedder: Embedder, progress: Progress, cancelled: Cancelled, most: int) -> None:
        self._store = store
        self._embedder = embedder
        self._progress = progress
        self._cancelled = cancelled
        self._most = most
        self._failed: set[str] = set()  # the keys of texts that have no vector
        self._limit = embedder.context_length if isinstance(embedder, Counting) else 0
        self._bound = Bound(storable(embedder.reference), embedder.dims, embedder.digest, fingerprint(embedder))

    def run(self) -> Reindexed:
        begun = monotonic()
        self._sweep()
        self._begin()
        try:
            while not self._finished():
                self._embed(self._lacking())
        except StoreError as error:
            raise self._full() if full(error) else error from error
        self._sweep()
        self._done.seconds = monotonic() - begun
        return self._done

    def _begin(self) -> None:
        with self._store.writing() as db:
            before, begun = Bound.read(db), successor.begin(db, self._bound)
            self._done = Reindexed(self._bound, before, _chunks(db), resumed=begun.chunks)
            room.check(db, self._store.path, self._done.chunks - begun.chunks, self._bound.dims)

    def _full(self) -> StoreError:
        done, chunks = self._done.done, self._done.chunks
        kept, lacking = (human(room.need(rows, self._bound.dims)) for rows in (done, chunks - done))
        return StoreError(
            f"{self._store.path} has no more room on its disk: {done:,} of {chunks:,} chunks are embedded anew and "
            f"kept ({kept}), the old vectors answer; free {lacking} or more and run the same again, which goes on, or "
            "give it up with `bankml reindex --discard`"
        )

    def _lacking(self) -> list[str]:
        with self._store.reading() as db:
            self._done.chunks = _chunks(db)
            return [key for key in successor.lacking(db, self._bound) if key not in self._failed]

    def _embed(self, keys: list[str]) -> None:
        for part in batches(keys, self._most):
            self._progress(self._done)
            if self._cancelled():
                raise CancelledError(f"the caller gave up when {self._done.done} of {self._done.chunks} were embedded")
            with self._store.reading() as db:
                texts = successor.texts(db, part)
            found = finite(self._embedder, texts, self._failed.add, self._cancelled)
            lengths = self._lengths(list(texts.values()))
            truncated = {number for number, length in enumerate(lengths) if length > self._limit}
            with self._store.writing() as db:
                self._done.embedded += successor.insert(db, list(texts), found, self._bound, truncated)
            self._done.texts += len(texts)
            self._done.tokens += sum(min(length, self._limit) for length in lengths)
        self._progress(self._done)

    def _lengths(self, texts: list[str]) -> Sequence[int]:
        """Tokens of each text, however long; none where only another program can count them."""
        return self._embedder.count(texts) if texts and isinstance(self._embedder, Counting) else ()

    def _finished(self) -> bool:
        """Puts the new vectors in place if none is lacking: what another process adds meanwhile waits for this."""
        with self._store.writing() as db:
            lacking = successor.lacking(db, self._bound)
            if not self._failed.issuperset(lacking):
                return False
            self._done.chunks = _chunks(db)
            self._done.without = without(db, lacking, self._embedder.model)
            self._check_most()
            self._done.truncated = successor.finish(db, self._bound)
        return True

    def _check_most(self) -> None:
        """Weights that are broken must not replace vectors that are not."""
        lost = len(self._done.without)
        if 2 * lost > self._done.chunks:
            raise NotFiniteError(
                f"{lost} of {self._done.chunks} chunks would have no vector ({self._embedder.model} gives none that is "
                f"finite): nothing was replaced; run `bankml verify {self._embedder.model}`"
            )

    def _sweep(self) -> None:
        """Removes what was replaced, in small transactions between which others may write."""
        more = True
        while more:
            with self._store.writing() as db:
                more = vectors.sweep(db)


def _chunks(db: sqlite3.Connection) -> int:
    return int(db.execute("SELECT count(*) FROM chunks").fetchone()[0])
