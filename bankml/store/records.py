"""Records, their assertions and the files they cite, written and read: nothing that was asserted is overwritten."""

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bankml.store import documents
from bankml.store.documents import DocumentRow, Replaced
from bankml.store.passage import Passage
from bankml.store.record import PREFIX, TYPE, Assertion, Cited, Feedback, Freshness, Record, Status, encoded
from bankml.utf8 import whole

COLUMNS = (
    "id, title, content, created_at, updated_at, reasoning, category, tags, confidence, status, freshness, namespace, "
    "session, root, provenance, superseded_by"
)
MICROSECONDS = 1_000_000  # of a second
ALL_RECORDS = 500  # parameters of a statement, below the 999 of an old SQLite


def put(db: sqlite3.Connection, record: Record, passages: Sequence[Passage], recipe: str) -> Replaced:
    """The record, new or in the place of the one of its id, with its passages; its assertions are `asserted`'s.

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


def asserted(db: sqlite3.Connection, record_id: str, assertion: Assertion) -> None:
    """One more of a record; what it said before ends where this begins, if that is later."""
    db.execute(
        "UPDATE assertions SET valid_to = ?1 WHERE record_id = ?2 AND valid_to IS NULL AND valid_from < ?1",
        (assertion.valid_from, record_id),
    )
    restore(db, record_id, assertion)


def restore(db: sqlite3.Connection, record_id: str, assertion: Assertion) -> None:
    """One of a record as it was elsewhere; the others stay as they are."""
    db.execute(
        """INSERT INTO assertions (record_id, content, confidence, valid_from, valid_to, recorded_at, provenance)
        VALUES (?, ?, ?, ?, ?, ?, ?)""",
        (
            record_id,
            whole(assertion.content),
            assertion.confidence,
            assertion.valid_from,
            assertion.valid_to,
            assertion.recorded_at,
            whole(encoded(assertion.provenance)),
        ),
    )


def next_moment(db: sqlite3.Connection, record_id: str, now: int) -> int:
    """Now, or the first instant after all that a record has asserted: its history has one order, whatever clocks do."""
    latest = db.execute("SELECT max(recorded_at) FROM assertions WHERE record_id = ?", (record_id,)).fetchone()[0]
    return now if latest is None else max(now, latest + 1)


def end(db: sqlite3.Connection, assertion_id: int, at: int) -> None:
    """The end of an assertion that has none."""
    db.execute("UPDATE assertions SET valid_to = ? WHERE id = ? AND valid_to IS NULL", (at, assertion_id))


def ended(db: sqlite3.Connection, record_id: str, at: int) -> None:
    """What the record says is valid no longer than `at`."""
    db.execute(
        "UPDATE assertions SET valid_to = max(?, valid_from) WHERE record_id = ? AND valid_to IS NULL", (at, record_id)
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


def assertions(db: sqlite3.Connection, record_id: str) -> list[Assertion]:
    """All of a record, the first recorded first."""
    rows = db.execute(
        """SELECT content, confidence, valid_from, valid_to, recorded_at, provenance, id FROM assertions
        WHERE record_id = ? ORDER BY recorded_at, id""",
        (record_id,),
    )
    return [
        Assertion(content, confidence, valid_from, valid_to, recorded_at, json.loads(provenance), id)
        for content, confidence, valid_from, valid_to, recorded_at, provenance, id in rows
    ]


def said(db: sqlite3.Connection, record_id: str, feedback: Feedback) -> None:
    """What somebody said of the record."""
    db.execute(
        "INSERT INTO feedback (record_id, verdict, note, provenance, recorded_at) VALUES (?, ?, ?, ?, ?)",
        (
            record_id,
            *whole([feedback.verdict, feedback.note, encoded(feedback.provenance)]),
            feedback.recorded_at,
        ),
    )


def feedback(db: sqlite3.Connection, record_id: str) -> list[Feedback]:
    """All that was said of a record, the first first."""
    rows = db.execute(
        "SELECT verdict, note, provenance, recorded_at FROM feedback WHERE record_id = ? ORDER BY recorded_at, id",
        (record_id,),
    )
    return [Feedback(verdict, note, recorded_at, json.loads(facts)) for verdict, note, facts, recorded_at in rows]


def of_chunks(db: sqlite3.Connection, chunk_ids: Iterable[int]) -> dict[int, str]:
    """The records that passages belong to, by the passage's id; passages of documents are left out."""
    rows = db.execute(
        """SELECT c.id, r.id FROM json_each(?) AS wanted JOIN chunks c ON c.id = wanted.value
        JOIN records r ON r.document_id = c.document_id""",
        (encoded(list(chunk_ids)),),
    )
    return dict(rows.fetchall())


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
    for record_id, *facts in rows:
        found[record_id] = (*found.get(record_id, ()), Cited(*facts))
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
        tags=tuple(json.loads(tags)),
        confidence=confidence,
        status=status,
        freshness=freshness,
        namespace=namespace,
        session=session,
        root=root,
        cited=cited,
        provenance=json.loads(provenance),
        superseded_by=successor,
    )
