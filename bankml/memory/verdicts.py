"""What those who used a record say of it. Every verdict is kept; most change what is said of it from then on."""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, get_args

from bankml.errors import InputError
from bankml.memory import instant
from bankml.memory.cited import again
from bankml.memory.draft import REASONING, origin, record_id
from bankml.memory.given import one_of, text
from bankml.store import Assertion, Cited, Feedback, Record, Store, assertions, records
from bankml.store import feedback as kept

Verdict = Literal["helpful", "confirmed", "stale", "wrong", "archive"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

DOUBT = 0.5  # of the confidence is left to what was called wrong


def judged(record: Record, verdict: str) -> dict[str, Any]:
    """For JSON: what is said of a record now, after this verdict."""
    return {
        "id": record.id,
        "verdict": verdict,
        "status": record.status,
        "freshness": record.freshness,
        "confidence": record.confidence,
    }


def feedback(
    store: Store,
    record: str,
    verdict: Any,
    note: Any = "",
    provenance: Mapping[str, Any] | None = None,
    clock: Callable[[], int] = instant.now,
) -> Record:
    """Keeps a verdict on a record; the record as it is then.

    `helpful` changes nothing. `confirmed`: it is current, and its cited files are read anew. `stale`: so it is.
    `wrong`: stale, and an active one is asserted anew with half the confidence. `archive`: it is archived; what it
    asserted stays as valid as it was. Raises InputError for another verdict, a record that is not there, and
    the archiving of a superseded one; StoreError, BusyError.
    """
    wanted = one_of("the verdict", verdict, VERDICTS)
    note, origin_of = text("the note", note, REASONING), origin(provenance or {})
    while True:
        with store.reading() as db:
            seen = found(db, record)
        files = again(seen.root, seen.cited, [file.path for file in seen.cited]) if wanted == "confirmed" else ()
        with store.writing() as db:
            before = found(db, seen.id)
            if wanted == "confirmed" and before.cited != seen.cited:
                continue  # another wrote meanwhile, and its files are to be read
            now = assertions.next_moment(db, before.id, clock())
            _say(db, before, Feedback(wanted, note, now, origin_of), files)
            return found(db, before.id)


def found(db: sqlite3.Connection, given: Any) -> Record:
    """The record of this id. Raises InputError where there is none."""
    record = records.find(db, record_id(given))
    if record is None:
        raise InputError(f"there is no record {given}: `bankml query` prints the ids of those that there are")
    return record


def _say(db: sqlite3.Connection, record: Record, said: Feedback, files: Sequence[Cited]) -> None:
    now = said.recorded_at
    kept.put(db, record.id, said)
    if said.verdict == "confirmed":
        records.mark(db, record.id, now, freshness="current")
        records.cite(db, record.id, files)
    elif said.verdict in ("stale", "wrong"):
        records.mark(db, record.id, now, freshness="stale")
    elif said.verdict == "archive":
        _archive(db, record, now)
    if said.verdict == "wrong" and record.status == "active":
        _doubt(db, record, now, said.provenance)


def _archive(db: sqlite3.Connection, record: Record, now: int) -> None:
    if record.status == "superseded":
        raise InputError(
            f"{record.id} is superseded: nobody finds it who does not ask for such, so it need not be archived"
        )
    records.mark(db, record.id, now, status="archived")


def _doubt(db: sqlite3.Connection, record: Record, now: int, provenance: Mapping[str, Any]) -> None:
    less = record.confidence * DOUBT
    assertions.put(db, record.id, Assertion(record.content, less, now, None, now, provenance))
    records.mark(db, record.id, now, confidence=less)
