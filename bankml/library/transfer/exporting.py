"""A knowledge base as JSON lines: everything in it, for another machine or another program."""

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

from bankml.errors import StoreError
from bankml.library.transfer.line import NAME, VERSION, Chunk, Document, End, Line, Model, encoded, vector_text
from bankml.library.transfer.record_line import Record
from bankml.store import Bound, DocumentRow, Store, assertions, feedback, records
from bankml.store.record import TYPE


@dataclass(slots=True)
class Moved:
    """How much was exported or imported."""

    documents: int = 0
    chunks: int = 0
    vectors: int = 0
    records: int = 0


def export(store: Store, moved: Moved, vectors: bool = True) -> Iterator[bytes]:
    """The lines of one state of the store, whatever is written meanwhile; `moved` counts them.

    The same store gives the same bytes. Raises StoreError.
    """
    with store.reading() as db:
        bound = Bound.read(db) if vectors else None
        yield encoded(Line(bankml=NAME, version=VERSION, model=Model.of(bound) if bound else None))
        for id, added_at, row in _documents(db):
            if row.type == TYPE:
                yield encoded(Line(record=_record(db, id, added_at, row.recipe)))
                moved.records += 1
            else:
                yield encoded(Line(document=Document.of(id, row, added_at)))
                moved.documents += 1
            for chunk in _chunks(db, id, bound):
                yield encoded(Line(chunk=chunk))
                moved.chunks += 1
                moved.vectors += chunk.vector is not None
        yield encoded(Line(end=End(moved.documents, moved.chunks, moved.records)))


def _documents(db: sqlite3.Connection) -> Iterator[tuple[int, int, DocumentRow]]:
    rows = db.execute(
        "SELECT id, added_at, path, type, title, sha256, size, modified, recipe FROM documents ORDER BY id"
    )
    for id, added_at, *row in rows:
        yield id, added_at, DocumentRow(*row)


def _record(db: sqlite3.Connection, document_id: int, added_at: int, recipe: str) -> Record:
    """Raises StoreError where a document that says that it is a record's is none's."""
    row = db.execute("SELECT id FROM records WHERE document_id = ?", (document_id,)).fetchone()
    if row is None or (record := records.find(db, row[0])) is None:
        raise StoreError(f"document {document_id} is a record's, and there is none: `bankml doctor` says what is wrong")
    document = document_id, added_at, recipe
    return Record.of(record, document, assertions.of(db, record.id), feedback.of(db, record.id))


def _chunks(db: sqlite3.Connection, document_id: int, bound: Bound | None) -> Iterator[Chunk]:
    rows = db.execute(
        """SELECT c.id, c.text, c.heading, c.start, c.stop, c.line, c.page, c.tokens, v.vector, v.fingerprint
        FROM chunks c LEFT JOIN chunks_vec v ON v.chunk_id = c.id WHERE c.document_id = ? ORDER BY c.seq""",
        (document_id,),
    )
    for id, text, heading, start, end, line, page, tokens, vector, fingerprint in rows:
        chunk = Chunk(id, text, heading, start, end, line, page, tokens)
        if bound and vector is not None:
            chunk.vector = vector_text(vector)
            chunk.fingerprint = fingerprint if fingerprint != bound.fingerprint else None
        yield chunk
