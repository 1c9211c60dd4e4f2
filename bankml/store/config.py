"""What the store says of itself, by key."""

import sqlite3
from secrets import token_hex

from bankml.errors import StoreError

DIGITS = 18  # of a number, at most: SQLite has 63 bits


def get(db: sqlite3.Connection, key: str) -> str | None:
    """The value, None where there is none."""
    row = db.execute("SELECT value FROM config WHERE key = ?", (key,)).fetchone()
    return None if row is None else str(row[0])


def put(db: sqlite3.Connection, key: str, value: str | None) -> None:
    """Sets the value; None removes it."""
    if value is None:
        db.execute("DELETE FROM config WHERE key = ?", (key,))
    else:
        db.execute("INSERT OR REPLACE INTO config VALUES (?, ?)", (key, value))


def number(db: sqlite3.Connection, key: str) -> int:
    """The value as a whole number, 0 where there is none. Raises StoreError for what is none."""
    value = get(db, key) or "0"
    if not (value.isascii() and value.isdecimal() and len(value) <= DIGITS):
        raise StoreError(f"the knowledge base is damaged ({key} is {value[:DIGITS]!r}): `bankml doctor` says where")
    return int(value)


def store_id(db: sqlite3.Connection) -> str:
    """Which store it is, wherever its file goes: 32 hex digits."""
    return get(db, "store_id") or ""


def generation(db: sqlite3.Connection) -> int:
    """Raised by every transaction that wrote."""
    return number(db, "generation")


def epoch(db: sqlite3.Connection) -> int:
    """Raised when the vector of a chunk may be another than before; chunks that come and go do not raise it."""
    return number(db, "epoch")


def state(db: sqlite3.Connection) -> str:
    """Another one after every transaction that wrote, in copies of a store too, whose generations are the same."""
    return f"{generation(db)} {get(db, 'state') or ''}"


def raise_generation(db: sqlite3.Connection) -> None:
    put(db, "generation", str(generation(db) + 1))
    put(db, "state", token_hex(8))


def raise_epoch(db: sqlite3.Connection) -> None:
    put(db, "epoch", str(epoch(db) + 1))
