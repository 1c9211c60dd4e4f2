"""The text around a passage: from the file where that is still what was added, else from what the store kept."""

import os
import sqlite3
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from pathlib import Path

from bankml.documents.decoding import decoded
from bankml.documents.extract import DECLARED
from bankml.errors import DocumentError
from bankml.models import regular_file
from bankml.store import Store
from bankml.store.schema import LARGEST_ID

LARGEST = 16 << 20  # bytes of a file that is read for this; of larger ones the store's passages are shown
AROUND = 32  # passages before and after, some 1,000 characters each
BLANK = 64  # characters at most between two passages, where the source has nothing but spaces

CHANGED = "the file has changed since it was added: this is what was added"
GONE = "the file is no longer there: this is what was added"
UNREADABLE = "the file cannot be read now: this is what was added"
LARGE = "the file is large: this is what was added of it, around the passage"


@dataclass(frozen=True, slots=True)
class Source:
    """`text[start:end]` is the passage; `first_line`: the number of the text's first line, None where it has none.

    `note`: why the text is not the file's own; "" where it is, or there is no file.
    """

    id: int
    path: bytes
    type: str
    title: str
    heading: str
    line: int | None
    page: int | None
    text: str
    start: int
    end: int
    first_line: int | None
    note: str
    partial: bool  # there is more of it in the store


@dataclass(frozen=True, slots=True)
class _Chunk:
    id: int
    text: str
    start: int
    end: int
    line: int | None


@dataclass(frozen=True, slots=True)
class _Document:
    path: bytes
    type: str
    title: str
    sha256: str
    size: int


def source(store: Store, chunk_id: int) -> Source | None:
    """The source of a passage, which is named by its id alone; None where the store has none. Raises StoreError."""
    if not 0 < chunk_id <= LARGEST_ID:
        return None
    with store.reading() as db:
        found = db.execute("SELECT document_id, seq, heading, page FROM chunks WHERE id = ?", (chunk_id,)).fetchone()
        if found is None:
            return None
        document_id, seq, heading, page = found
        document = _Document(
            *db.execute("SELECT path, type, title, sha256, size FROM documents WHERE id = ?", (document_id,)).fetchone()
        )
        chunks = _chunks(db, document_id, seq)
        count = db.execute("SELECT count(*) FROM chunks WHERE document_id = ?", (document_id,)).fetchone()[0]
    passage = next(chunk for chunk in chunks if chunk.id == chunk_id)
    content, note = _content(document)
    own = _own(content, document.type, passage)
    text, start, first_line = own or _kept(chunks, passage)
    facts = (document.path, document.type, document.title, heading, passage.line, page)
    return Source(
        chunk_id, *facts, text, start, start + len(passage.text), first_line, note, own is None and len(chunks) < count
    )


def _chunks(db: sqlite3.Connection, document_id: int, seq: int) -> list[_Chunk]:
    rows = db.execute(
        "SELECT id, text, start, stop, line FROM chunks WHERE document_id = ? AND seq BETWEEN ? AND ? ORDER BY seq",
        (document_id, seq - AROUND, seq + AROUND),
    )
    return [_Chunk(*row) for row in rows]


def _content(document: _Document) -> tuple[bytes | None, str]:
    """The file's bytes if they are those that were added; else why not. Other bytes are shown to nobody."""
    if not document.path.startswith(b"/"):
        return None, ""
    try:
        path = Path(os.fsdecode(document.path))
        if path.stat().st_size != document.size:
            return None, CHANGED
        if document.size > LARGEST:
            return None, LARGE
        content = regular_file.read(path, document.size + 1)
    except FileNotFoundError:
        return None, GONE
    except (OSError, ValueError):
        return None, UNREADABLE
    return (content, "") if sha256(content).hexdigest() == document.sha256 else (None, CHANGED)


def _own(content: bytes | None, type: str, passage: _Chunk) -> tuple[str, int, int] | None:
    """The file's text, where the passage in it starts, and 1, where the passages are parts of that very text."""
    if content is None or passage.line is None:
        return None
    try:
        text, _ = decoded(content, DECLARED.get(type))
    except DocumentError:
        return None
    return (text, passage.start, 1) if text[passage.start : passage.end] == passage.text else None


def _kept(chunks: list[_Chunk], passage: _Chunk) -> tuple[str, int, int | None]:
    """The text of the passages one behind the other, where this one starts in it, and the line of the first."""
    parts, length, at = [chunks[0].text], len(chunks[0].text), 0
    for before, chunk in pairwise(chunks):
        if chunk.start >= before.end:
            blank = _blank(before, chunk)
            start = length + len(blank)
            parts.append(blank + chunk.text)
        else:  # what overlaps is there already
            start = length - (before.end - chunk.start)
            parts.append(chunk.text[before.end - chunk.start :])
        length += len(parts[-1])
        at = start if chunk is passage else at
    return "".join(parts), at, chunks[0].line


def _blank(before: _Chunk, chunk: _Chunk) -> str:
    """What lies between two passages: as many lines as they are apart, then spaces."""
    width = min(chunk.start - before.end, BLANK)
    if before.line is None or chunk.line is None:
        return "\n\n"[:width]
    lines = chunk.line - before.line - before.text.count("\n")
    return "\n" * min(lines, width) + " " * max(0, width - lines)
