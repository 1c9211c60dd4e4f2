"""Documents and their chunks, written. All that changes chunks goes through here."""

import sqlite3
import time
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass

from bankml.store import words
from bankml.store.passage import Passage
from bankml.utf8 import whole


@dataclass(frozen=True, slots=True)
class DocumentRow:
    """`path`: the bytes of an absolute path, or a name that does not begin with a slash (standard input, HTTP)."""

    path: bytes
    type: str
    title: str
    sha256: str  # of its bytes
    size: int
    modified: int  # seconds since 1970, UTC
    recipe: str  # how chunks were made of it; another recipe makes others


@dataclass(frozen=True, slots=True)
class Replaced:
    """`added`: chunks that are new and have no vector yet, with what is to be embedded, in order."""

    document_id: int
    added: tuple[tuple[int, str], ...]
    kept: int
    removed: int


def find(db: sqlite3.Connection, path: bytes) -> tuple[int, DocumentRow] | None:
    """The document of this path, with its id."""
    row = db.execute(
        "SELECT id, path, type, title, sha256, size, modified, recipe FROM documents WHERE path = ?", (path,)
    ).fetchone()
    return None if row is None else (row[0], DocumentRow(*row[1:]))


def replace(db: sqlite3.Connection, document: DocumentRow, passages: Sequence[Passage]) -> Replaced:
    """The document with these passages, new or in the place of the one of its path.

    A chunk whose key is among the passages keeps its id, and with it its vector; of equal keys the first keeps the
    first's.
    """
    document_id = _put(db, document)
    before = _chunks(db, document_id)
    count = sum(map(len, before.values()))
    db.execute("UPDATE chunks SET seq = -1 - seq WHERE document_id = ?", (document_id,))  # makes room for new numbers
    kept = [
        (before[p.key].popleft(), seq, p) if before.get(p.key) else (None, seq, p) for seq, p in enumerate(passages)
    ]
    gone = [chunk_id for left in before.values() for chunk_id in left]
    db.executemany("DELETE FROM chunks WHERE id = ?", ((chunk_id,) for chunk_id in gone))
    added = []
    for chunk_id, seq, passage in kept:
        if chunk_id is None:
            added.append((_insert(db, document_id, seq, passage), passage.embedded))
        else:
            _move(db, chunk_id, seq, passage)
    return Replaced(document_id, tuple(added), count - len(gone), len(gone))


def fresh(db: sqlite3.Connection) -> bool:
    """Whether the store has no document and never had one: then no id was anybody's."""
    return db.execute("SELECT 1 FROM sqlite_sequence").fetchone() is None


def restore(
    db: sqlite3.Connection,
    document_id: int,
    document: DocumentRow,
    added_at: int,
    passages: Sequence[tuple[int, Passage]],
) -> None:
    """A document with ids and a time from elsewhere. Raises sqlite3.IntegrityError where one of the ids is taken."""
    db.execute(
        """INSERT INTO documents (id, added_at, path, type, title, sha256, size, modified, recipe)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)""",
        (document_id, added_at, document.path, *whole([*astuple(document)[1:]])),
    )
    for seq, (chunk_id, passage) in enumerate(passages):
        _insert(db, document_id, seq, passage, chunk_id)


def remove(db: sqlite3.Connection, ids: Iterable[int]) -> int:
    """Removes documents with all that belongs to them; how many there were."""
    return db.executemany("DELETE FROM documents WHERE id = ?", ((document_id,) for document_id in ids)).rowcount


def _put(db: sqlite3.Connection, document: DocumentRow) -> int:
    values = whole([*astuple(document)[1:]])  # a title may hold half a character
    row = db.execute(
        """INSERT INTO documents (path, type, title, sha256, size, modified, recipe, added_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (path) DO UPDATE SET type = excluded.type, title = excluded.title, sha256 = excluded.sha256,
            size = excluded.size, modified = excluded.modified, recipe = excluded.recipe, added_at = excluded.added_at
        RETURNING id""",
        (document.path, *values, int(time.time())),
    ).fetchone()
    return int(row[0])


def _chunks(db: sqlite3.Connection, document_id: int) -> dict[str, deque[int]]:
    """Ids by key, in the order of the document."""
    found: dict[str, deque[int]] = defaultdict(deque)
    for chunk_id, key in db.execute("SELECT id, key FROM chunks WHERE document_id = ? ORDER BY seq", (document_id,)):
        found[key].append(chunk_id)
    return found


def _insert(db: sqlite3.Connection, document_id: int, seq: int, passage: Passage, chunk_id: int | None = None) -> int:
    cursor = db.execute(
        """INSERT INTO chunks (id, document_id, seq, text, heading, start, stop, line, page, tokens, key)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
        (chunk_id, document_id, seq, *_columns(passage), passage.key),
    )
    assert cursor.lastrowid
    words.insert(db, cursor.lastrowid, passage.embedded)
    return cursor.lastrowid


def _move(db: sqlite3.Connection, chunk_id: int, seq: int, passage: Passage) -> None:
    """The same text at another place; its words and its vector stay."""
    db.execute(
        """UPDATE chunks SET seq = ?, text = ?, heading = ?, start = ?, stop = ?, line = ?, page = ?, tokens = ?
        WHERE id = ?""",
        (seq, *_columns(passage), chunk_id),
    )


def _columns(passage: Passage) -> tuple[str, str, int, int, int | None, int | None, int]:
    text, heading = whole([passage.text, passage.heading])
    return text, heading, passage.start, passage.end, passage.line, passage.page, passage.tokens
