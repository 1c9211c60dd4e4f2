"""All that a record ever said, and what was said of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bankml.memory import instant
from bankml.memory.named import named
from bankml.memory.recall.compact import PREVIEW, titled
from bankml.store import Assertion, Feedback, Record, Store, assertions, feedback, records


@dataclass(frozen=True, slots=True)
class Timeline:
    """`assertions` and `feedback` in the order they were recorded in; `supersedes`: ids of records it replaced."""

    record: Record
    assertions: tuple[Assertion, ...]
    supersedes: tuple[str, ...]
    feedback: tuple[Feedback, ...]

    def object(self, full: bool = False) -> dict[str, Any]:
        """For JSON. Contents and notes are whole with `full`, else their first 600 characters."""
        length = None if full else PREVIEW
        return {
            "id": self.record.id,
            "title": titled(self.record.title),
            "status": self.record.status,
            "assertions": [_assertion(each, length) for each in self.assertions],
            "supersedes": list(self.supersedes),
            "superseded_by": self.record.superseded_by,
            "feedback": [_feedback(each, length) for each in self.feedback],
        }


def timeline(store: Store, beginning: str) -> Timeline:
    """Of the one record whose id begins so. Raises InputError where there is none or several, StoreError."""
    with store.reading() as db:
        record_id = named(db, beginning)
        record = records.find(db, record_id)
        assert record
        replaced = db.execute("SELECT id FROM records WHERE superseded_by = ? ORDER BY created_at, id", (record_id,))
        supersedes = tuple(row[0] for row in replaced)
        told = tuple(feedback.of(db, record_id))
        return Timeline(record, tuple(assertions.of(db, record_id)), supersedes, told)


def _assertion(assertion: Assertion, length: int | None) -> dict[str, Any]:
    end = assertion.valid_to
    return {
        "content": assertion.content[:length],
        "valid_from": instant.iso(assertion.valid_from),
        "valid_to": None if end is None else instant.iso(end),
        "recorded_at": instant.iso(assertion.recorded_at),
        "confidence": assertion.confidence,
        **_more(assertion.content, length, assertion.provenance),
    }


def _feedback(feedback: Feedback, length: int | None) -> dict[str, Any]:
    return {
        "verdict": feedback.verdict,
        "note": feedback.note[:length],
        "recorded_at": instant.iso(feedback.recorded_at),
        **_more(feedback.note, length, feedback.provenance),
    }


def _more(text: str, length: int | None, provenance: Mapping[str, Any]) -> dict[str, Any]:
    """What is told only where there is something to tell."""
    cut = {"truncated": True} if length is not None and len(text) > length else {}
    return cut | ({"provenance": dict(provenance)} if provenance else {})
