"""Documents stored in a thread, in order, one transaction each, while the next texts are embedded."""

import sqlite3
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import NamedTuple, Self

from bankml.embedders.embedder import Embedder
from bankml.library.add.lacking import Filled, fill
from bankml.library.add.reading import Pending
from bankml.library.model import binding
from bankml.library.model.fingerprint import fingerprint
from bankml.store import Store, documents


class Stored(NamedTuple):
    """`filled` is None, and nothing was written, where the store no longer has what it had when the file was read."""

    file: Pending
    filled: Filled | None


class Storing:
    """On a disk that takes 5 ms to be sure, a hundred small files are half a second that the engine need not wait."""

    def __init__(self, store: Store, embedder: Embedder | None) -> None:
        self._store = store
        self._embedder = embedder
        self._fingerprint = fingerprint(embedder) if embedder else None
        self._thread = ThreadPoolExecutor(1, "storing")
        self._future: Future[None] | None = None
        self._done: deque[Stored] = deque()

    def put(self, files: Sequence[Pending], vectors: Mapping[str, bytes]) -> None:
        """Begins to store files with their vectors by key, once those before are stored. Raises what stopped those."""
        self.wait()
        self._future = self._thread.submit(self._run, files, vectors)

    def wait(self) -> None:
        """Returns when all are stored. Raises what stopped it: StoreError, MismatchError, BusyError."""
        future, self._future = self._future, None
        if future:
            future.result()

    def taken(self) -> Iterator[Stored]:
        """What became of files since this was last asked."""
        while self._done:
            yield self._done.popleft()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """What was embedded is stored before this ends, whatever ended it."""
        self._thread.shutdown()

    def _run(self, files: Sequence[Pending], vectors: Mapping[str, bytes]) -> None:
        for file in files:
            self._done.append(Stored(file, self._stored(file, vectors)))

    def _stored(self, file: Pending, vectors: Mapping[str, bytes]) -> Filled | None:
        with self._store.writing() as db:
            if self._embedder:
                binding.check(db, self._embedder)
            if documents.find(db, file.row.path) != file.before:
                return None
            return fill(db, _document(db, file), self._fingerprint, vectors)


def _document(db: sqlite3.Connection, file: Pending) -> int:
    """The id of the file's document, which is stored anew where its chunks are."""
    if file.passages is not None:
        return documents.replace(db, file.row, file.passages).document_id
    assert file.before
    return file.before[0]
