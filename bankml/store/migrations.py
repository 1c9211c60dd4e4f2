"""Bringing a file to this version's tables."""

import sqlite3
from pathlib import Path

from bankml.errors import StoreError
from bankml.store.schema import APPLICATION_ID, MIGRATIONS, VERSION

NO_STORE = "run `bankml init` to make one, or name another with --db"


def recognise(db: sqlite3.Connection, path: Path) -> int:
    """The number of the last migration that the file has seen; 0 of an empty one.

    Raises StoreError for another program's file and for one of a newer bankml.
    """
    if db.in_transaction:
        return _version(db, path)
    db.execute("BEGIN")  # the file as it is at one moment: another process may be making it
    try:
        return _version(db, path)
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")


def _version(db: sqlite3.Connection, path: Path) -> int:
    application = db.execute("PRAGMA application_id").fetchone()[0]
    if application != APPLICATION_ID:
        if application or db.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
            raise StoreError(
                f"{path} is a database of another program: nothing was changed in it; name another with --db"
            )
        return 0
    version = int(db.execute("SELECT coalesce(max(number), 0) FROM migrations").fetchone()[0])
    if version > VERSION:
        raise StoreError(
            f"{path} was written by a newer bankml (schema {version}, this one knows {VERSION}): "
            "upgrade bankml with `pip install -U bankml`"
        )
    return version


def migrate(db: sqlite3.Connection, path: Path) -> None:
    """Runs what is missing. Two processes that do so at once take turns, and the second finds nothing left."""
    while recognise(db, path) < VERSION:
        db.execute("BEGIN IMMEDIATE")
        try:
            if (version := recognise(db, path)) < VERSION:
                _run(db, version + 1)
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise


def _run(db: sqlite3.Connection, number: int) -> None:
    if number == 1:
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.execute(
            "CREATE TABLE migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL)"
        )
    name, statements = MIGRATIONS[number - 1]
    for statement in statements:
        db.execute(statement)
    db.execute("INSERT INTO migrations VALUES (?, ?, CAST (strftime('%s') AS INTEGER))", (number, name))
    db.execute("INSERT OR REPLACE INTO config VALUES ('schema_version', ?)", (str(number),))
