"""A file as it is now, beside what the store has of it."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from io import BytesIO
from math import inf
from pathlib import Path

from bankml.documents.chunk import Chunk
from bankml.documents.chunking import chunks
from bankml.documents.counting import Count
from bankml.documents.estimate import estimate
from bankml.documents.extract import extract
from bankml.documents.extracted import Extracted
from bankml.documents.source import Failure, Source
from bankml.embedders.counting import Counting
from bankml.embedders.embedder import Cancelled, Embedder
from bankml.errors import CancelledError, Error, UnavailableError
from bankml.library.add.lacking import Text, lacking
from bankml.library.add.recipe import Recipe
from bankml.library.model.configuration import Configuration
from bankml.library.model.fingerprint import fingerprint
from bankml.store import DocumentRow, Passage, Store, documents

ALONE = 1000  # weight of a file without text


@dataclass(frozen=True, slots=True)
class Broken:
    """A file that cannot be read, and why."""

    path: str
    error: str
    size: int = 0


@dataclass(frozen=True, slots=True)
class Unchanged:
    """A file that the store has as it is, vectors included."""

    size: int


@dataclass(frozen=True, slots=True)
class Pending:
    """A file that the store has not as it is. `passages` is None where only vectors are missing.

    `before`: what the store had when this was made; `texts`: what may have to be embedded, by key.
    """

    source: Source
    row: DocumentRow
    before: tuple[int, DocumentRow] | None
    passages: Sequence[Passage] | None
    texts: dict[str, Text] = field(default_factory=dict)
    truncated: int = 0  # chunks that are longer than the model reads
    notes: Sequence[str] = ()

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return self.row.size


Piece = Broken | Unchanged | Pending


def weight(piece: Piece) -> int:
    """About as many bytes as a piece holds."""
    if not isinstance(piece, Pending):
        return ALONE
    return ALONE + sum(len(text.embedded) for text in piece.texts.values())


class Reader:
    """Reads one file after the other, in one thread. `why`: for what reason tokens are estimated, if they are."""

    def __init__(
        self,
        store: Store,
        embedder: Embedder | None,
        configuration: Configuration,
        converter: str = "",
        cancelled: Cancelled | None = None,
    ) -> None:
        self._store = store
        self._configuration = configuration
        self._converter = converter
        self._cancelled = cancelled or (lambda: False)
        self.why = ""
        self._use(embedder)

    def read(self, source: Source | Failure) -> Piece:
        """What is to be done with a file. Raises StoreError of the store; what a file does, it does to itself alone.

        Raises CancelledError before and after its text is extracted, and while it is cut.
        """
        self._check()
        if isinstance(source, Failure):
            return Broken(shown(source.path), source.error)
        try:
            content = source.read()
        except (Error, OSError) as error:
            return Broken(shown(source.path), _sentence(error))
        if source.stream:  # which gives what it has once
            source = replace(source, stream=BytesIO(content))
        digest = sha256(content).hexdigest()
        before, texts = self._stored(source, digest)
        if before and texts is not None:
            return Pending(source, before[1], before, None, texts) if texts else Unchanged(len(content))
        try:
            return self._made(source, content, digest, before)
        except CancelledError:
            raise
        except Exception as error:  # parsers of other people's formats may raise anything
            return Broken(shown(source.path), _sentence(error), len(content))

    def _stored(self, source: Source, digest: str) -> tuple[tuple[int, DocumentRow] | None, dict[str, Text] | None]:
        """What the store has of the file; if it is the same, what of it lacks a vector."""
        with self._store.reading() as db:
            before = documents.find(db, name_bytes(source.path))
            same = before and before[1].sha256 == digest and source.type in (None, before[1].type)
            if not (before and same and self._recipe.serves(before[1].recipe)):
                return before, None
            return before, lacking(db, before[0], self._fingerprint) if self._fingerprint else {}

    def _made(self, source: Source, content: bytes, digest: str, before: tuple[int, DocumentRow] | None) -> Pending:
        found = extract(shown(source.path), content, self._converter, source.type)
        passages = [_passage(chunk) for chunk in self._chunks(found)]
        row = DocumentRow(
            name_bytes(source.path), found.type, found.title, digest, len(content), source.modified, str(self._recipe)
        )
        texts = {passage.key: Text(passage.embedded, passage.tokens) for passage in passages}
        truncated = sum(passage.tokens > self._limit() for passage in passages)
        return Pending(source, row, before, passages, texts, truncated, found.notes)

    def _chunks(self, found: Extracted) -> list[Chunk]:
        size, overlap = self._configuration.chunk_tokens, self._configuration.chunk_overlap
        if isinstance(self._embedder, Counting):
            try:
                size = min(size, self._embedder.context_length)
                return chunks(found, self._checked(self._embedder.count), size, min(overlap, size // 2))
            except UnavailableError as error:
                self.why = str(error)
                self._use(None)
        return chunks(found, self._checked(estimate), size, overlap)

    def _checked(self, count: Count) -> Count:
        def counted(texts: Sequence[str]) -> Sequence[int]:
            self._check()
            return count(texts)

        return counted

    def _check(self) -> None:
        if self._cancelled():
            raise CancelledError("nobody waits any more for what is left to be added")

    def _limit(self) -> float:
        return self._embedder.context_length if isinstance(self._embedder, Counting) else inf

    def _use(self, embedder: Embedder | None) -> None:
        self._embedder = embedder
        self._fingerprint = fingerprint(embedder) if embedder else None
        sizes = self._configuration.chunk_tokens, self._configuration.chunk_overlap
        self._recipe = Recipe.of(embedder, *sizes, self._converter)


def name_bytes(path: Path | str) -> bytes:
    """As the store has it: the bytes of a file's path, or a name."""
    return os.fsencode(path) if isinstance(path, Path) else path.encode("utf-8", "surrogateescape")


def shown(path: Path | str) -> str:
    """As text."""
    return str(path)


def _passage(chunk: Chunk) -> Passage:
    return Passage(chunk.text, chunk.heading, chunk.start, chunk.end, chunk.line, chunk.page, chunk.tokens)


def _sentence(error: Exception) -> str:
    """Why a file was not read."""
    if isinstance(error, Error):
        return str(error)
    if isinstance(error, OSError):
        return f"cannot be read ({error.strerror or error}): check that it is there and that you may read it"
    return (
        f"cannot be read ({type(error).__name__}: {error}): open it in its own program, save it anew, or leave it out"
    )
