"""Records and the files they cite, written and read."""

import hashlib
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from bankml.store import documents
from bankml.store.documents import DocumentRow, Replaced
from bankml.store.passage import Passage
from bankml.store.record import PREFIX, TYPE, Cited, Freshness, Record, Status, encoded, facts, names
from bankml.utf8 import whole

COLUMNS = (
    "id, title, content, created_at, updated_at, reasoning, category, tags, confidence, status, freshness, namespace, "
    "session, root, provenance, superseded_by"
)
MICROSECONDS = 1_000_000  # of a second
ALL_RECORDS = 500  # parameters of a statement, below the 999 of an old SQLite


def put(db: sqlite3.Connection, record: Record, passages: Sequence[Passage], recipe: str) -> Replaced:
    """The record, new or in the place of the one of its id, with its passages; what it says is `assertions.put`'s.

    A passage whose text is the same keeps its id and its vector. `recipe`: how passages were made of it.
    """
    replaced = documents.replace(db, document(record, recipe), passages)
    attach(db, record, replaced.document_id)
    return replaced


def document(record: Record, recipe: str) -> DocumentRow:
    """What its passages belong to."""
    content = whole(record.text).encode()
    return DocumentRow(
        path=document_path(record.id),
        type=TYPE,
        title=record.title,
        sha256=hashlib.sha256(content).hexdigest(),
        size=len(content),
        modified=record.updated_at // MICROSECONDS,
        recipe=recipe,
    )


def attach(db: sqlite3.Connection, record: Record, document_id: int) -> None:
    """The record itself, whose passages are there already."""
    values = (
        *whole([record.id, record.title, record.content]),
        record.created_at,
        record.updated_at,
        *whole([record.reasoning, record.category, encoded(record.tags)]),
        record.confidence,
        *whole([record.status, record.freshness, record.namespace, record.session]),
        record.root,
        whole(encoded(record.provenance)),
        record.superseded_by,
    )
    db.execute(
        f"""INSERT INTO records ({COLUMNS}, document_id) VALUES ({", ".join("?" * (len(values) + 1))})
        ON CONFLICT (id) DO UPDATE SET {", ".join(f"{name} = excluded.{name}" for name in COLUMNS.split(", ")[1:])}""",
        (*values, document_id),
    )
    cite(db, record.id, record.cited)


def cite(db: sqlite3.Connection, record_id: str, cited: Sequence[Cited]) -> None:
    """These files, in the place of those that the record cited."""
    db.execute("DELETE FROM cited WHERE record_id = ?", (record_id,))
    db.executemany(
        "INSERT INTO cited (record_id, seq, path, name, sha256, size, modified) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            (record_id, seq, file.path, file_name(file.path), file.sha256, file.size, file.modified)
            for seq, file in enumerate(cited)
        ),
    )


def mark(
    db: sqlite3.Connection,
    record_id: str,
    at: int,
    status: Status | None = None,
    freshness: Freshness | None = None,
    superseded_by: str | None = None,
    confidence: float | None = None,
) -> None:
    """What is not None is said of the record from now on. A confidence is that of its newest assertion, too."""
    db.execute(
        """UPDATE records SET status = coalesce(?, status), freshness = coalesce(?, freshness),
            superseded_by = coalesce(?, superseded_by), confidence = coalesce(?, confidence),
            updated_at = max(?, updated_at) WHERE id = ?""",
        (status, freshness, superseded_by, confidence, at, record_id),
    )


def find(db: sqlite3.Connection, record_id: str) -> Record | None:
    """The record of this id."""
    return next(iter(several(db, [record_id])), None)


def several(db: sqlite3.Connection, ids: Sequence[str]) -> list[Record]:
    """Those of these ids that there are, in this order."""
    found: dict[str, Record] = {}
    for start in range(0, len(ids), ALL_RECORDS):
        some = ids[start : start + ALL_RECORDS]
        marks = ", ".join("?" * len(some))
        cited = _cited(db, marks, some)
        for row in db.execute(f"SELECT {COLUMNS} FROM records WHERE id IN ({marks})", some):
            found[row[0]] = _record(row, cited.get(row[0], ()))
    return [found[record_id] for record_id in ids if record_id in found]


def chunk_ids(db: sqlite3.Connection, record_id: str) -> list[int]:
    """A record's passages, in order."""
    rows = db.execute(
        """SELECT c.id FROM records r JOIN chunks c ON c.document_id = r.document_id WHERE r.id = ? ORDER BY c.seq""",
        (record_id,),
    )
    return [row[0] for row in rows]


def exist(db: sqlite3.Connection) -> bool:
    """Whether there is any."""
    return db.execute("SELECT 1 FROM records LIMIT 1").fetchone() is not None


def count(db: sqlite3.Connection, status: Status = "active") -> int:
    """Records of this status."""
    return int(db.execute("SELECT count(*) FROM records WHERE status = ?", (status,)).fetchone()[0])


def document_path(record_id: str) -> bytes:
    """The path of the document that its passages belong to. NUL is in no file's path and in no name."""
    return b"\0" + record_id.encode()


def file_name(path: bytes) -> str:
    """Without its folders, as two spellings of it are compared."""
    return path.rsplit(b"/", 1)[-1].decode("utf-8", "replace").casefold()


def is_id(text: str) -> bool:
    """Whether it looks like a record's."""
    return text.startswith(PREFIX)


def _cited(db: sqlite3.Connection, marks: str, ids: Sequence[str]) -> Mapping[str, tuple[Cited, ...]]:
    found: dict[str, tuple[Cited, ...]] = {}
    rows = db.execute(
        f"""SELECT record_id, path, sha256, size, modified FROM cited WHERE record_id IN ({marks})
        ORDER BY record_id, seq""",
        ids,
    )
    for record_id, *seen in rows:
        found[record_id] = (*found.get(record_id, ()), Cited(*seen))
    return found


def _record(row: Sequence[Any], cited: tuple[Cited, ...]) -> Record:
    (id, title, content, created, updated, reasoning, category, tags, confidence, *of_status, provenance, successor) = (
        row
    )
    status, freshness, namespace, session, root = of_status
    return Record(
        id=id,
        title=title,
        content=content,
        created_at=created,
        updated_at=updated,
        reasoning=reasoning,
        category=category,
        tags=names(tags, f"the tags of {id}"),
        confidence=confidence,
        status=status,
        freshness=freshness,
        namespace=namespace,
        session=session,
        root=root,
        cited=cited,
        provenance=facts(provenance, f"the provenance of {id}"),
        superseded_by=successor,
    )
