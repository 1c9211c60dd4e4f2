"""What an exported knowledge base holds, document by document."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from tempfile import TemporaryFile, gettempdir
from typing import BinaryIO, NamedTuple

from bankml.errors import InputError, StoreError
from bankml.library.transfer.line import KNOWN, LONGEST, NAME, VERSION, Chunk, End, Line, decoded
from bankml.library.transfer.record_line import Record
from bankml.store import Bound, DocumentRow, Passage, records

GAPS, SPARE = 16, 1 << 20  # ids beyond GAPS * how many there are + SPARE are taken for made up


class Part(NamedTuple):
    """A chunk as it is stored."""

    id: int
    passage: Passage
    vector: bytes | None
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Incoming:
    """A document with its chunks; `record`: whose these are, where they are one's."""

    id: int
    added_at: int
    row: DocumentRow
    parts: list[Part]
    record: Record | None = None


class Export:
    """A file that was read to its end and is whole; iterating reads it again."""

    def __init__(self, file: BinaryIO, name: str, with_vectors: bool = True, copy: BinaryIO | None = None) -> None:
        """As `whole`, which is what to call. `copy` takes what is read, where it can be read but once."""
        self.name = name
        self.with_vectors = with_vectors
        self.bound: Bound | None = None
        self._file, self._start = (file, file.tell()) if copy is None else (copy, 0)
        documents, chunks = _Range(), _Range()
        for document in self._documents(_lines(file, name, copy)):
            documents.take(document.id)
            for part in document.parts:
                chunks.take(part.id)
        self.sparse = documents.sparse or chunks.sparse

    def __iter__(self) -> Iterator[Incoming]:
        self._file.seek(self._start)
        return self._documents(_lines(self._file, self.name))

    def _documents(self, lines: Iterator[tuple[int, Line]]) -> Iterator[Incoming]:
        number, first = next(lines, (1, Line()))
        with _numbered(self.name, number):
            self.bound = _model(first)
        gathering = _Gathering(self.bound, self.with_vectors)
        for number, line in lines:
            with _numbered(self.name, number):
                document = gathering.take(line)
            if document:
                yield document
        with _numbered(self.name, number):
            gathering.check_ended()


@contextmanager
def whole(file: BinaryIO, name: str, with_vectors: bool = True) -> Iterator[Export]:
    """The export that `file` (`name` in errors) holds, whose every line was looked at.

    What is a pipe is kept in a temporary file, so that whoever imports it waits for nobody. Raises InputError with the
    number of a line that is none or contradicts the others, StoreError where there is no room for the temporary file.
    """
    if file.seekable():
        yield Export(file, name, with_vectors)
        return
    with TemporaryFile(prefix="bankml-import-") as copy:
        try:
            found = Export(file, name, with_vectors, copy)
        except OSError as error:
            raise StoreError(
                f"{name} cannot be kept in {gettempdir()} while it is looked at ({error.strerror}): let TMPDIR name a "
                "folder with more room, or import a file"
            ) from error
        yield found


@dataclass(slots=True)
class _Range:
    """How many ids there are, and the largest: what searches set aside room for."""

    count: int = 0
    largest: int = 0

    def take(self, id: int) -> None:
        self.count += 1
        self.largest = max(self.largest, id)

    @property
    def sparse(self) -> bool:
        return self.largest > GAPS * self.count + SPARE


class _Gathering:
    """Takes the lines behind the first, and gives a document when its chunks are there. Raises InputError."""

    def __init__(self, bound: Bound | None, with_vectors: bool) -> None:
        self._bound = bound
        self._with_vectors = with_vectors
        self._document: Incoming | None = None
        self._documents = self._records = self._chunks = 0
        self._paths: set[bytes] = set()
        self._ids: set[tuple[str, int]] = set()
        self._ended = False

    def take(self, line: Line) -> Incoming | None:
        """The document that ended before this line, if one did."""
        if self._ended:
            raise InputError("there is more behind the last line: one file was put behind another")
        if line.document:
            self._documents += 1
            return self._begin(Incoming(line.document.id, line.document.added_at, line.document.row(), []))
        if line.record:
            self._records += 1
            return self._begin(_of_record(line.record))
        if line.end:
            return self._end(line.end)
        if not line.chunk:
            raise InputError("it is no document, no record, no chunk and no end")
        self._add(line.chunk)
        return None

    def check_ended(self) -> None:
        """Called behind the last line."""
        if not self._ended:
            raise InputError("the file ends here, and its end is missing: it was cut off; export it again")

    def _begin(self, incoming: Incoming) -> Incoming | None:
        if incoming.row.path in self._paths:
            kind = "record of this id" if incoming.record else "document of this path"
            raise InputError(f"a {kind} stands in the file already")
        self._paths.add(incoming.row.path)
        self._check_id("document", incoming.id)
        before, self._document = self._document, incoming
        return before

    def _add(self, chunk: Chunk) -> None:
        if self._document is None:
            raise InputError("it is a chunk, and there is no document and no record before it")
        self._check_id("chunk", chunk.id)
        vector, fingerprint = None, ""
        if chunk.vector is not None and self._with_vectors:
            if self._bound is None:
                raise InputError("it has a vector, and the first line names no model")
            vector, fingerprint = chunk.bytes(self._bound.dims), chunk.fingerprint or self._bound.fingerprint
        self._document.parts.append(Part(chunk.id, chunk.passage(), vector, fingerprint))
        self._chunks += 1

    def _end(self, end: End) -> Incoming | None:
        there = End(self._documents, self._chunks, self._records)
        if end != there:
            raise InputError(f"it says {_told(end)}, but there are {_told(there)}: lines are missing; export it again")
        self._ended = True
        return self._document

    def _check_id(self, kind: str, id: int) -> None:
        if (kind, id) in self._ids:
            raise InputError(f"the id {id} stands in the file already")
        self._ids.add((kind, id))


def _of_record(line: Record) -> Incoming:
    return Incoming(line.document_id, line.added_at, records.document(line.record(), line.recipe), [], line)


def _told(end: End) -> str:
    some = f"{end.documents:,} documents and {end.chunks:,} chunks"
    return f"{end.records:,} records, {some}" if end.records else some


def _model(line: Line) -> Bound | None:
    """The model of the first line."""
    if line.bankml != NAME:
        raise InputError("this is no exported knowledge base: `bankml export` writes one")
    if line.version not in KNOWN:
        raise InputError(f"this is version {line.version} of the format, and {VERSION} is known here: upgrade bankml")
    return line.model.bound() if line.model else None


def _lines(file: BinaryIO, name: str, copy: BinaryIO | None = None) -> Iterator[tuple[int, Line]]:
    number = 0
    while content := file.readline(LONGEST + 1):
        number += 1
        with _numbered(name, number):
            if len(content) > LONGEST:
                raise InputError(f"it is longer than {LONGEST >> 20} MiB")
            line = decoded(content)
        if copy:
            copy.write(content)
        yield number, line


@contextmanager
def _numbered(name: str, number: int) -> Iterator[None]:
    """Errors with the line that they are of."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{name}, line {number:,}: {error}; nothing was imported") from None
