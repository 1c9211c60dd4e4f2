"""Vectors of a record that was just written: for a few seconds, for a write waits for nobody long, or fails by it."""

from collections.abc import Callable
from time import monotonic

from bankml.embedders import Embedder
from bankml.embedders.batches import batches
from bankml.errors import CancelledError, Error, NotFiniteError
from bankml.library.add.lacking import Text, fill, lacking
from bankml.library.model import binding
from bankml.library.model.fingerprint import fingerprint
from bankml.store import Store, documents, records

SECONDS = 5.0  # for all passages of a write, and for the engine's other work before them
MOST = 64  # passages of a call and of a transaction

LATER = "`bankml reindex --missing` embeds what is left"

FAILURES = (Error, OSError, MemoryError)  # of a model, which fail no write


def reason(failure: Exception) -> str:
    """One of `FAILURES` in a sentence."""
    return f"there is no memory for the model: {LATER}" if isinstance(failure, MemoryError) else str(failure)


def embed_record(store: Store, embedder: Embedder, record_id: str, clock: Callable[[], float] = monotonic) -> str:
    """Embeds the passages of a record that lack a vector; why some still do, "" where none does.

    Downloads nothing, and raises nothing that a store, a model or the system does.
    """
    until = clock() + SECONDS
    work = _Work(store, embedder, lambda: clock() > until)
    try:
        work.run(record_id)
    except CancelledError:
        return f"the model had no more than {SECONDS:g} s for it: {LATER}"
    except FAILURES as error:
        return reason(error)
    return work.why


class _Work:
    """`late`: whether the time is over."""

    def __init__(self, store: Store, embedder: Embedder, late: Callable[[], bool]) -> None:
        self._store = store
        self._embedder = embedder
        self._late = late
        self.why = ""

    def run(self, record_id: str) -> None:
        recipe = fingerprint(self._embedder)
        with self._store.reading() as db:
            if (document := documents.find(db, records.document_path(record_id))) is None:
                return
            texts = list(lacking(db, document[0], recipe).items())
        for part in batches(texts, MOST):
            if self._late():
                raise CancelledError
            made = self._vectors(part)
            with self._store.writing() as db:
                binding.check(db, self._embedder)
                fill(db, document[0], recipe, made)

    def _vectors(self, part: list[tuple[str, Text]]) -> dict[str, bytes]:
        """By key; a text that the model cannot embed has none."""
        try:
            rows = self._embedder.embed([text.embedded for _, text in part], cancelled=self._late)
        except NotFiniteError as error:
            self.why = str(error)
            left = [each for at, each in enumerate(part) if at not in error.indexes]
            return self._vectors(left) if left and error.indexes else {}
        return {key: row.astype("<f4").tobytes() for (key, _), row in zip(part, rows, strict=True)}
