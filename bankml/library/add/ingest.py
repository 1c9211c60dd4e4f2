"""Files into a store: while the engine embeds some, the next are read and those before are stored."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic

from bankml.documents.source import Failure, Source
from bankml.embedders.embedder import Cancelled, Embedder
from bankml.library.add.added import Added, Note
from bankml.library.add.ahead import Ahead
from bankml.library.add.embedding import Embedding
from bankml.library.add.lacking import Text, known
from bankml.library.add.reading import Broken, Pending, Piece, Reader, Unchanged, shown, weight
from bankml.library.add.storing import Stored, Storing
from bankml.library.model.configuration import Configuration
from bankml.library.model.fingerprint import fingerprint
from bankml.store import Store

TRIES = 3  # readings of a file that other processes add at the same time

Progress = Callable[[Added], None]
"""Called with the counts so far, after every call of the engine and every few files."""


@dataclass(slots=True)
class _Batch:
    """Files whose texts are embedded together, so that the passes of the engine are full."""

    files: list[Pending] = field(default_factory=list)
    missing: dict[str, Text] = field(default_factory=dict)  # by key: what is to be embedded
    vectors: dict[str, bytes] = field(default_factory=dict)  # by key
    tokens: int = 0  # of what is missing


class Ingest:
    """Adds files to a store. `added` grows meanwhile, and tells what was done where the work was cut short.

    Without an embedder chunks are found by words alone; `why` says why. `cancelled` is as in Embedder.embed,
    `converter` as in documents.extract.
    """

    def __init__(
        self,
        store: Store,
        embedder: Embedder | None,
        configuration: Configuration,
        why: str = "",
        progress: Progress | None = None,
        cancelled: Cancelled | None = None,
        converter: str = "",
    ) -> None:
        self._store = store
        self._embedding = Embedding(embedder, cancelled)
        self._fingerprint = fingerprint(embedder) if embedder else None
        self._reader = Reader(store, embedder, configuration, converter, cancelled)
        self._progress = progress or (lambda added: None)
        self._recent: Mapping[str, bytes] = {}  # vectors that may not be in the store yet, by key
        self.added = Added(status=why)

    def run(self, sources: Iterable[Source | Failure]) -> Added:
        """Adds what `sources` gives, and what it could not give is among the failed.

        What is done stays done whatever is raised: MismatchError where the store is of another model by now,
        StoreError, CancelledError.
        """
        with self._timed():
            for _ in range(TRIES):
                sources = self._pass(sources)
            for source in sources:
                self.added.fail(shown(source.path), "other processes change it all the time: add it when they are done")
        return self.added

    def _pass(self, sources: Iterable[Source | Failure]) -> list[Source]:
        """Those that another process has stored between our reading and our storing: they must be read again."""
        again: list[Source] = []
        storing = Storing(self._store, self._embedding.embedder)
        try:
            with storing, Ahead(sources, self._reader.read, weight) as pieces:
                for batch in self._batches(pieces):
                    batch.vectors.update(self._embedding.vectors(batch.missing, self._count_embedded))
                    storing.put(batch.files, batch.vectors)
                    self._recent = batch.vectors
                    again += self._count_stored(storing.taken())
                storing.wait()
        finally:
            again += self._count_stored(storing.taken())
            self.added.status = self.added.status or self._embedding.why or self._reader.why
        return again

    def _batches(self, pieces: "Ahead[Source | Failure, Piece]") -> Iterator[_Batch]:
        """Files with as many tokens as a call has, or as many as are read while the engine would wait."""
        batch = _Batch()
        for piece in pieces:
            if isinstance(piece, Pending):
                self._gather(batch, piece)
            else:
                self._count_settled(piece)
            if batch.files and (batch.tokens >= self._embedding.tokens_of_a_call or not pieces.waiting):
                yield batch
                batch = _Batch()
        if batch.files:
            yield batch

    def _gather(self, batch: _Batch, file: Pending) -> None:
        """Puts a file into the batch, with the vectors that are there already."""
        batch.files.append(file)
        if self._fingerprint is None:
            return
        new = {key: text for key, text in file.texts.items() if key not in batch.vectors and key not in batch.missing}
        with self._store.reading() as db:
            batch.vectors.update(known(db, new, self._fingerprint))
        batch.vectors.update((key, self._recent[key]) for key in new if key in self._recent)
        missing = {key: text for key, text in new.items() if key not in batch.vectors}
        batch.missing.update(missing)
        batch.tokens += sum(text.tokens for text in missing.values())

    def _count_settled(self, piece: Broken | Unchanged) -> None:
        if isinstance(piece, Broken):
            self.added.fail(piece.path, piece.error)
        else:
            self.added.unchanged += 1
        self._count_read(piece.size)

    def _count_embedded(self, texts: int, tokens: int) -> None:
        self.added.embedded += texts
        self.added.tokens += tokens
        self._progress(self.added)

    def _count_stored(self, stored: Iterable[Stored]) -> list[Source]:
        """Those that are to be read again."""
        again = []
        for file, filled in stored:
            if filled is None:
                again.append(file.source)
                continue
            self._count_document(file)
            self.added.with_vector += filled.filled if file.passages is None else len(file.passages) - filled.lacking
            self.added.without_vector += filled.lacking
            self._count_read(file.size)
        return again

    def _count_document(self, file: Pending) -> None:
        if file.passages is None:
            self.added.unchanged += 1
            return
        self.added.added += file.before is None
        self.added.updated += file.before is not None
        self.added.chunks += len(file.passages)
        self.added.truncated += file.truncated
        self.added.notes += [Note(shown(file.source.path), note) for note in file.notes]

    def _count_read(self, size: int) -> None:
        self.added.bytes += size
        self._progress(self.added)

    @contextmanager
    def _timed(self) -> Iterator[None]:
        begun, before = monotonic(), self.added.seconds
        try:
            yield
        finally:
            self.added.seconds = before + monotonic() - begun
