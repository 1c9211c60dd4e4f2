"""The lines of an exported knowledge base: one says what it is, then each document or record with its chunks."""

from typing import Annotated, Self

import msgspec
import numpy as np
import pybase64
from msgspec import Meta, Struct

from bankml.errors import InputError
from bankml.library.transfer.record_line import Record
from bankml.store import Bound, DocumentRow, Passage
from bankml.utf8 import printable

NAME = "knowledge base"
VERSION = 2
KNOWN = (1, 2)  # 1 had no records
LONGEST = 64 << 20  # bytes of a line; a chunk of 8,192 tokens with its vector has some 50 kB

Id = Annotated[int, Meta(ge=1, le=2**53)]  # beyond, JavaScript and SQLite's next id run out
Count = Annotated[int, Meta(ge=0, le=2**53)]
Digest = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
Fingerprint = Annotated[str, Meta(pattern="^[0-9a-f]{16}$")]


class Model(Struct, omit_defaults=True):
    """What the vectors are of."""

    name: str
    dims: Annotated[int, Meta(ge=1, le=1 << 16)]
    digest: Digest
    fingerprint: Fingerprint

    @classmethod
    def of(cls, bound: Bound) -> Self:
        return cls(bound.model_name, bound.dims, bound.digest, bound.fingerprint)

    def bound(self) -> Bound:
        return Bound(self.name, self.dims, self.digest, self.fingerprint)


class Document(Struct, omit_defaults=True):
    """`path` is a text, or where its bytes are none, `path_base64`."""

    id: Id
    type: str
    title: str
    sha256: Digest
    size: Count
    modified: Annotated[int, Meta(ge=-(2**53), le=2**53)]
    recipe: str
    added_at: Annotated[int, Meta(ge=-(2**53), le=2**53)]
    path: str | None = None
    path_base64: str | None = None

    @classmethod
    def of(cls, id: int, row: DocumentRow, added_at: int) -> Self:
        path, encoded = _path(row.path)
        return cls(id, row.type, row.title, row.sha256, row.size, row.modified, row.recipe, added_at, path, encoded)

    def row(self) -> DocumentRow:
        """Raises InputError for a path that is none."""
        path = self.path.encode() if self.path is not None else _decoded(self.path_base64 or "", "path_base64")
        if not path or b"\0" in path:
            raise InputError("a document needs a path, without NUL")
        return DocumentRow(path, self.type, self.title, self.sha256, self.size, self.modified, self.recipe)


class Chunk(Struct, omit_defaults=True):
    """`vector`: float32, little-endian, base64; `fingerprint`: of its recipe where that is not the first line's."""

    id: Id
    text: str
    heading: str
    start: Count
    end: Count
    line: Annotated[int, Meta(ge=1, le=2**53)] | None
    page: Annotated[int, Meta(ge=1, le=2**53)] | None
    tokens: Count
    vector: str | None = None
    fingerprint: Fingerprint | None = None

    def passage(self) -> Passage:
        """Raises InputError for a span that ends before it begins."""
        if self.end < self.start:
            raise InputError(f"the chunk ends at character {self.end}, before it starts at {self.start}")
        return Passage(self.text, self.heading, self.start, self.end, self.line, self.page, self.tokens)

    def bytes(self, dims: int) -> bytes:
        """The vector's. Raises InputError for one of another width, or not of unit length."""
        content = _decoded(self.vector or "", "vector")
        if len(content) != 4 * dims:
            raise InputError(f"the vector has {len(content)} bytes; {dims} numbers are {4 * dims}")
        length = np.linalg.norm(np.frombuffer(content, "<f4").astype(np.float64))
        if not abs(length - 1) < 1e-3:
            raise InputError(f"the vector's length is {length:.6g}, not 1")
        return content


class End(Struct, omit_defaults=True):
    """How much there was: a file without its last lines is told from a whole one."""

    documents: Count
    chunks: Count
    records: Count = 0


class Line(Struct, omit_defaults=True):
    """One of them; `bankml`, `version` and `model` are the first line's."""

    bankml: str | None = None
    version: int | None = None
    model: Model | None = None
    document: Document | None = None
    record: Record | None = None
    chunk: Chunk | None = None
    end: End | None = None


DECODER = msgspec.json.Decoder(Line)
ENCODER = msgspec.json.Encoder()


def encoded(line: Line) -> bytes:
    """As it stands in the file."""
    return ENCODER.encode(line) + b"\n"


def decoded(content: bytes) -> Line:
    """Raises InputError in the words for a sentence that begins with the line's number."""
    try:
        return DECODER.decode(content)
    except (msgspec.DecodeError, RecursionError) as error:
        raise InputError(printable(str(error))[:300]) from None


def vector_text(content: bytes) -> str:
    """A vector as its line has it."""
    return pybase64.b64encode(content).decode("ascii")


def _path(path: bytes) -> tuple[str | None, str | None]:
    try:
        return path.decode(), None
    except UnicodeDecodeError:
        return None, vector_text(path)


def _decoded(text: str, what: str) -> bytes:
    try:
        return pybase64.b64decode(text, validate=True)
    except ValueError:
        raise InputError(f"the {what} is no base64") from None
