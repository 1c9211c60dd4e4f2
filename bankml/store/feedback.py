"""What was said of records after they were written."""

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bankml.store.record import encoded
from bankml.utf8 import whole


@dataclass(frozen=True, slots=True)
class Feedback:
    """`recorded_at`: microseconds since 1970, UTC."""

    verdict: str
    note: str
    recorded_at: int
    provenance: Mapping[str, Any]


def put(db: sqlite3.Connection, record_id: str, feedback: Feedback) -> None:
    """One more of a record that is there."""
    db.execute(
        "INSERT INTO feedback (record_id, verdict, note, provenance, recorded_at) VALUES (?, ?, ?, ?, ?)",
        (
            record_id,
            feedback.verdict,
            whole(feedback.note),
            whole(encoded(feedback.provenance)),
            feedback.recorded_at,
        ),
    )


def of(db: sqlite3.Connection, record_id: str) -> list[Feedback]:
    """All of a record, the first first."""
    rows = db.execute(
        "SELECT verdict, note, recorded_at, provenance FROM feedback WHERE record_id = ? ORDER BY id", (record_id,)
    )
    return [Feedback(verdict, note, at, json.loads(provenance)) for verdict, note, at, provenance in rows]
