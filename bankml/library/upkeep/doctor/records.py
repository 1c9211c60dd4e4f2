"""Records: whether each is whole, and says what it last asserted."""

import sqlite3
from collections.abc import Iterator

from bankml.errors import StoreError
from bankml.library.upkeep.doctor.file import RESTORE
from bankml.library.upkeep.doctor.finding import Finding, ill, well
from bankml.store import Store, assertions, feedback
from bankml.store import records as kept
from bankml.store.record import TYPE

CHECKS = (
    ("document {} is a record's, and there is none", "SELECT id FROM documents WHERE type = :type AND id NOT IN owned"),
    (
        "{} has no passages",
        "SELECT r.id FROM records r WHERE NOT EXISTS (SELECT 1 FROM chunks c WHERE c.document_id = r.document_id)",
    ),
    (
        "{} asserts nothing",
        "SELECT r.id FROM records r WHERE NOT EXISTS (SELECT 1 FROM assertions a WHERE a.record_id = r.id)",
    ),
    (
        "{} says another thing than it last asserted",
        """SELECT r.id FROM records r JOIN assertions a ON a.id = (
            SELECT id FROM assertions WHERE record_id = r.id ORDER BY recorded_at DESC, id DESC LIMIT 1
        ) WHERE a.content <> r.content""",
    ),
    ("{} is superseded by itself", "SELECT id FROM records WHERE superseded_by = id"),
)


def records(store: Store) -> Finding:
    """Whether each record has its passages and its assertions, and each document that is a record's its record."""
    wrong = []
    with store.reading() as db:
        (count,) = db.execute("SELECT count(*) FROM records").fetchone()
        for words, query in CHECKS:
            query = f"WITH owned AS (SELECT document_id FROM records) {query}"
            wrong += [words.format(id) for (id,) in db.execute(query, {"type": TYPE} if ":type" in query else {})]
        wrong += _unreadable(db)
    if wrong:
        return ill("records", wrong, "records are not whole", RESTORE)
    return well("records", f"{count:,} records are whole")


def _unreadable(db: sqlite3.Connection) -> Iterator[str]:
    """What of a record its reader would stumble over."""
    for (id,) in db.execute("SELECT id FROM records ORDER BY id"):
        for look in (kept.find, assertions.of, feedback.of):
            try:
                look(db, id)
            except StoreError as error:
                yield str(error).partition(":")[0]
