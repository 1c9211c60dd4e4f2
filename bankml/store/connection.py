"""One connection to the file, as SQLite gives it."""

import os
import sqlite3
from pathlib import Path
from urllib.parse import quote

PATIENCE = 60.0  # seconds for another process's transaction; one document's takes some milliseconds


def connect(path: Path, read_only: bool) -> sqlite3.Connection:
    """Raises sqlite3.Error. What may not be written is read as it lies there, if no journal says it is unfinished."""
    if not read_only:
        return _connection(path, "mode=rw")
    try:
        return _read(_connection(path, "mode=ro"))
    except sqlite3.OperationalError:
        journal = path.with_name(f"{path.name}-wal")
        if journal.exists() and journal.stat().st_size:
            raise
        return _read(_connection(path, "immutable=1"))  # a journal mode that wants to write beside the file


def writable(path: Path) -> bool:
    """Whether the file and its folder, where the journal lies, may be written."""
    own = os.access in os.supports_effective_ids
    return all(os.access(place, os.W_OK, effective_ids=own) for place in (path, path.parent))


def _connection(path: Path, how: str) -> sqlite3.Connection:
    db = sqlite3.connect(
        f"file:{quote(os.fsencode(path))}?{how}",
        uri=True,
        timeout=PATIENCE,
        isolation_level=None,  # transactions begin where the code says so
        check_same_thread=False,
    )
    db.execute("PRAGMA foreign_keys = ON")
    db.execute("PRAGMA synchronous = FULL")  # what was said to be stored is on the disk
    return db


def _read(db: sqlite3.Connection) -> sqlite3.Connection:
    try:
        db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except sqlite3.Error:
        db.close()
        raise
    return db
