"""Whether a store's disk has room for as many vectors more: told before hours of embedding, not after."""

import shutil
import sqlite3
from contextlib import suppress
from pathlib import Path

from bankml.errors import StoreError
from bankml.sizes import human

ROW = 80  # bytes of a vector's row beside its numbers, and of its entry in the index


def need(rows: int, dims: int) -> int:
    """Bytes of so many vectors in their table: at least, for a page may be left half empty."""
    return rows * (4 * dims + ROW)


def check(db: sqlite3.Connection, path: Path, rows: int, dims: int) -> None:
    """Raises StoreError where the disk cannot hold them. A system that does not say is believed to have room."""
    with suppress(OSError):
        free = shutil.disk_usage(path.parent).free + _unused(db)
        if free < (wanted := need(rows, dims)):
            raise StoreError(
                f"{path} needs {human(wanted)} more for the new vectors, and its disk has {human(free)}: free some, or "
                "move it to where there is room; the old vectors answer"
            )


def _unused(db: sqlite3.Connection) -> int:
    """Bytes of the file that hold nothing."""
    (pages,) = db.execute("PRAGMA freelist_count").fetchone()
    (size,) = db.execute("PRAGMA page_size").fetchone()
    return int(pages) * int(size)
