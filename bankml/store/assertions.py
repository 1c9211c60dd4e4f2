"""What records said, from when to when: nothing that was asserted is overwritten."""

import sqlite3

from bankml.store.record import Assertion, encoded, facts
from bankml.utf8 import whole


def put(db: sqlite3.Connection, record_id: str, assertion: Assertion) -> None:
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


def of(db: sqlite3.Connection, record_id: str) -> list[Assertion]:
    """All of a record, the first recorded first."""
    rows = db.execute(
        """SELECT content, confidence, valid_from, valid_to, recorded_at, provenance, id FROM assertions
        WHERE record_id = ? ORDER BY recorded_at, id""",
        (record_id,),
    )
    of = f"the provenance of {record_id}"
    return [
        Assertion(content, confidence, valid_from, valid_to, recorded_at, facts(provenance, of), id)
        for content, confidence, valid_from, valid_to, recorded_at, provenance, id in rows
    ]
