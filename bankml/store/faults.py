"""What SQLite refuses, in one sentence each."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bankml.errors import BusyError, StoreError

SENTENCES = {
    sqlite3.SQLITE_NOTADB: "is no knowledge base: it is not a SQLite database; name another file with --db",
    sqlite3.SQLITE_CORRUPT: (
        "is damaged: copy it as it is before anything else is tried, then put a sound copy in its place, or "
        "`bankml add` the files to a new one; `bankml export` saves what can still be read of it"
    ),
    sqlite3.SQLITE_FULL: "has no more room on its disk: free some and do it again; what was stored before is kept",
    sqlite3.SQLITE_READONLY: "cannot be written: it, its folder or its disk is read-only",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened: check that its folder exists and that you may use both",
    sqlite3.SQLITE_PERM: "is not yours to open: change its owner or its mode",
    sqlite3.SQLITE_AUTH: "is not yours to open: change its owner or its mode",
    sqlite3.SQLITE_CONSTRAINT: "holds what contradicts this, which was not stored: `bankml doctor` says what is wrong",
    sqlite3.SQLITE_IOERR: "cannot be read or written to its end: its disk failed, is full, or the file was truncated",
}


@contextmanager
def told(path: Path) -> Iterator[None]:
    """Errors of SQLite as StoreError or BusyError; those of the binding are mistakes of ours and stay as they are."""
    try:
        yield
    except sqlite3.Error as error:
        raise _sentence(path, _code(error), error) from error
    except UnicodeDecodeError as error:  # what SQLite says of a damaged file holds some of its bytes
        raise StoreError(f"{path} {SENTENCES[sqlite3.SQLITE_CORRUPT]}") from error


def _code(error: sqlite3.Error) -> int:
    """SQLite's primary code. Errors of the binding have none; of these only text that is no UTF-8 is the file's."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    if code is not None:
        return code & 0xFF
    if isinstance(error, sqlite3.OperationalError):
        return sqlite3.SQLITE_CORRUPT
    raise error


def _sentence(path: Path, code: int, error: sqlite3.Error) -> StoreError | BusyError:
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return BusyError(f"{path} is being written by another process that does not end: try again when it has")
    why = SENTENCES.get(code, "cannot be used")
    if code not in SENTENCES or code == sqlite3.SQLITE_CONSTRAINT:
        why += f" ({error})"
    return StoreError(f"{path} {why}")


def full(error: StoreError) -> bool:
    """Whether it was for want of room."""
    cause = error.__cause__
    return isinstance(cause, sqlite3.Error) and _code(cause) == sqlite3.SQLITE_FULL
