"""The stores of linked repositories, as a store remembers them."""

import sqlite3
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Peer:
    """`path`: the bytes of its file's absolute path. `name`: of one peer of a store. `store_id`: which store it was."""

    path: bytes
    name: str
    store_id: str
    added_at: int  # microseconds since 1970, UTC


def put(db: sqlite3.Connection, peer: Peer) -> None:
    """The peer, in the place of the one of its path."""
    db.execute(
        "INSERT OR REPLACE INTO peers (path, name, store_id, added_at) VALUES (?, ?, ?, ?)",
        (peer.path, peer.name, peer.store_id, peer.added_at),
    )


def remove(db: sqlite3.Connection, path: bytes) -> bool:
    """Whether there was one."""
    return db.execute("DELETE FROM peers WHERE path = ?", (path,)).rowcount > 0


def listed(db: sqlite3.Connection) -> list[Peer]:
    """All of them, by name."""
    rows = db.execute("SELECT path, name, store_id, added_at FROM peers ORDER BY name, path")
    return [Peer(*row) for row in rows]
