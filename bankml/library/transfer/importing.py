"""An exported knowledge base into a store: all of it, or nothing."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, NamedTuple

import numpy as np

from bankml.errors import InputError, MismatchError
from bankml.library.transfer.exporting import Moved
from bankml.library.transfer.line import LONGEST, NAME, VERSION, Chunk, Document, End, Line, decoded
from bankml.models import same
from bankml.store import Bound, DocumentRow, Passage, Store, config, documents, vectors


def restore(store: Store, file: BinaryIO, name: str, with_vectors: bool = True) -> Moved:
    """What the lines of `file` (`name` in errors) hold, in one transaction.

    A store that never had a document gets the ids of the file; elsewhere documents are as if added anew, each in the
    place of the one of its path. Raises MismatchError where the store is of another model, InputError with the number
    of a line that is none, StoreError; then nothing has changed.
    """
    lines = _lines(file, name)
    number, first = next(lines, (1, Line()))
    with _numbered(name, number):
        bound = _model(first)
    with store.writing() as db:
        if bound and with_vectors:
            _bind(db, bound, name)
        restoring = _Restoring(db, bound, with_vectors)
        for number, line in lines:
            with _numbered(name, number):
                restoring.take(line)
        with _numbered(name, number):
            restoring.check_ended()
        return restoring.moved


class _Part(NamedTuple):
    """A chunk as it is stored."""

    id: int
    passage: Passage
    vector: bytes | None
    fingerprint: str


class _Restoring:
    """Takes the lines behind the first, and stores a document when its chunks are there. Raises InputError."""

    def __init__(self, db: sqlite3.Connection, bound: Bound | None, with_vectors: bool) -> None:
        self.moved = Moved()
        self._db = db
        self._bound = bound
        self._with_vectors = with_vectors
        self._keep_ids = documents.fresh(db)
        self._document: Document | None = None
        self._row: DocumentRow | None = None
        self._parts: list[_Part] = []
        self._paths: set[bytes] = set()
        self._ids: set[tuple[str, int]] = set()
        self._ended = False

    def take(self, line: Line) -> None:
        """The next line."""
        if self._ended:
            raise InputError("there is more behind the last line: one file was put behind another")
        if line.document:
            self._begin(line.document)
        elif line.chunk:
            self._add(line.chunk)
        elif line.end:
            self._end(line.end)
        else:
            raise InputError("it is no document, no chunk and no end")

    def check_ended(self) -> None:
        """Called behind the last line."""
        if not self._ended:
            raise InputError("the file ends here, and its end is missing: it was cut off; export it again")

    def _begin(self, document: Document) -> None:
        self._store()
        row = document.row()
        if row.path in self._paths:
            raise InputError("a document of this path stands in the file already")
        self._paths.add(row.path)
        self._check_id("document", document.id)
        self._document, self._row = document, row

    def _add(self, chunk: Chunk) -> None:
        if self._document is None:
            raise InputError("it is a chunk, and there is no document before it")
        self._check_id("chunk", chunk.id)
        vector, fingerprint = None, ""
        if chunk.vector is not None and self._with_vectors:
            if self._bound is None:
                raise InputError("it has a vector, and the first line names no model")
            vector, fingerprint = chunk.bytes(self._bound.dims), chunk.fingerprint or self._bound.fingerprint
        self._parts.append(_Part(chunk.id, chunk.passage(), vector, fingerprint))

    def _end(self, end: End) -> None:
        self._store()
        if (end.documents, end.chunks) != (self.moved.documents, self.moved.chunks):
            raise InputError(
                f"it says {end.documents:,} documents and {end.chunks:,} chunks, but there are "
                f"{self.moved.documents:,} and {self.moved.chunks:,}: lines are missing; export it again"
            )
        self._ended = True

    def _check_id(self, kind: str, id: int) -> None:
        if (kind, id) in self._ids:
            raise InputError(f"the id {id} stands in the file already")
        self._ids.add((kind, id))

    def _store(self) -> None:
        """The document whose lines were taken."""
        if self._document is None or self._row is None:
            return
        passages = [part.passage for part in self._parts]
        if self._keep_ids:
            numbered = [(part.id, part.passage) for part in self._parts]
            documents.restore(self._db, self._document.id, self._row, self._document.added_at, numbered)
            id = self._document.id
        else:
            id = documents.replace(self._db, self._row, passages).document_id
        self.moved.vectors += self._store_vectors(id)
        self.moved.documents += 1
        self.moved.chunks += len(passages)
        self._document, self._row, self._parts = None, None, []

    def _store_vectors(self, document_id: int) -> int:
        """Of chunks that have none; one that is there was made here, or came with an earlier file."""
        rows = self._db.execute(
            """SELECT c.id, v.chunk_id IS NULL FROM chunks c LEFT JOIN chunks_vec v ON v.chunk_id = c.id
            WHERE c.document_id = ? ORDER BY c.seq""",
            (document_id,),
        ).fetchall()
        by_fingerprint: dict[str, list[tuple[int, bytes]]] = {}
        for (id, lacks), part in zip(rows, self._parts, strict=True):
            if lacks and part.vector is not None:
                by_fingerprint.setdefault(part.fingerprint, []).append((id, part.vector))
        for fingerprint, found in by_fingerprint.items():
            matrix = np.frombuffer(b"".join(vector for _, vector in found), "<f4").reshape(len(found), -1)
            vectors.insert(self._db, [id for id, _ in found], fingerprint, matrix)
        return sum(map(len, by_fingerprint.values()))


def _model(line: Line) -> Bound | None:
    """The model of the first line."""
    if line.bankml != NAME:
        raise InputError("this is no exported knowledge base: `bankml export` writes one")
    if line.version != VERSION:
        raise InputError(f"this is version {line.version} of the format, and {VERSION} is known here: upgrade bankml")
    return line.model.bound() if line.model else None


def _bind(db: sqlite3.Connection, bound: Bound, name: str) -> None:
    """Raises MismatchError where the store is of another model."""
    here, named = Bound.read(db), config.get(db, "model_name")
    if here is None and (named is None or same(named, bound.model_name)):
        bound.write(db)
        vectors.create(db, bound.dims)
    elif here is None or (here.digest, here.dims) != (bound.digest, bound.dims):
        dims = f" ({here.dims} dim)" if here else ""
        raise MismatchError(
            f"Model mismatch: DB uses '{named}'{dims} but {name} holds vectors of '{bound.model_name}' "
            f"({bound.dims} dim). Import it with --no-vectors and run bankml reindex, or into a knowledge base of its "
            "own (--db)."
        )


def _lines(file: BinaryIO, name: str) -> Iterator[tuple[int, Line]]:
    number = 0
    while content := file.readline(LONGEST + 1):
        number += 1
        with _numbered(name, number):
            if len(content) > LONGEST:
                raise InputError(f"it is longer than {LONGEST >> 20} MiB")
            line = decoded(content)
        yield number, line


@contextmanager
def _numbered(name: str, number: int) -> Iterator[None]:
    """Errors with the line that they are of."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{name}, line {number:,}: {error}; nothing was imported") from None
