"""What was said of records after they were written."""

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bankml.store.record import encoded, facts
from bankml.utf8 import whole


@dataclass(frozen=True, slots=True)
class Feedback:
    """What somebody said of a record at an instant, in microseconds since 1970, UTC."""

    verdict: str
    note: str
    recorded_at: int
    provenance: Mapping[str, Any] = field(default_factory=dict)


def put(db: sqlite3.Connection, record_id: str, feedback: Feedback) -> None:
    """One more of a record that is there."""
    db.execute(
        "INSERT INTO feedback (record_id, verdict, note, provenance, recorded_at) VALUES (?, ?, ?, ?, ?)",
        (record_id, *whole([feedback.verdict, feedback.note, encoded(feedback.provenance)]), feedback.recorded_at),
    )


def of(db: sqlite3.Connection, record_id: str) -> list[Feedback]:
    """All of a record, the first recorded first."""
    rows = db.execute(
        "SELECT verdict, note, recorded_at, provenance FROM feedback WHERE record_id = ? ORDER BY recorded_at, id",
        (record_id,),
    )
    of = f"the provenance of {record_id}"
    return [Feedback(verdict, note, at, facts(provenance, of)) for verdict, note, at, provenance in rows]
