"""Records as tests need them, put into a store without a model."""

import sqlite3
from collections.abc import Sequence
from typing import Any

from bankml.store import Assertion, Record, Store, assertions, records
from bankml.store.record import passage

DAY = 86_400_000_000  # microseconds


def record_id(number: int) -> str:
    """`rec_00…`."""
    return f"rec_{number:016x}"


def said(content: str, start: int, end: int | None = None, recorded: int | None = None, **more: Any) -> Assertion:
    """An assertion, recorded when it began to hold."""
    given = {"confidence": 1.0} | more
    return Assertion(
        content, valid_from=start, valid_to=end, recorded_at=start if recorded is None else recorded, **given
    )


def write(store: Store, number: int, title: str, history: Sequence[Assertion] = (), **more: Any) -> str:
    """A record of these assertions, in the order they were recorded in; its content is the last one's."""
    with store.writing() as db:
        return write_in(db, number, title, history, **more)


def write_in(db: sqlite3.Connection, number: int, title: str, history: Sequence[Assertion] = (), **more: Any) -> str:
    """As `write`, for tests that write thousands in one transaction."""
    content = more.pop("content", history[-1].content if history else title)
    record = Record(record_id(number), title, content, **{"created_at": number, "updated_at": number} | more)
    records.put(db, record, [passage(record.text, title, 0, 5)], "1")
    for assertion in history:
        assertions.put(db, record.id, assertion)
    return record.id
