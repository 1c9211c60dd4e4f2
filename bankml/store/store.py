"""A knowledge base's file, read and written by many threads and processes."""

import os
import shlex
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from bankml.errors import StoreError
from bankml.private_file import PRIVATE
from bankml.store import config
from bankml.store.connection import connect, writable
from bankml.store.faults import told
from bankml.store.migrations import NO_STORE, migrate, recognise
from bankml.store.place import real
from bankml.store.pool import Pool
from bankml.store.schema import VERSION


class Store:
    """SQLite with a write-ahead log: readers see one state and never wait, writers take turns.

    `path`: of the file itself, wherever links to it lie: what is beside it is the same for all who use it.
    """

    def __init__(self, path: Path, read_only: bool = False) -> None:
        """As `open`, which is what to call."""
        self.path = real(path)
        self.read_only = read_only or not writable(self.path)
        self._pool = Pool(str(self.path), lambda: connect(self.path, self.read_only))
        with told(self.path):
            self._pool.give(self._first(), used=0)

    @classmethod
    def create(cls, path: Path) -> Self:
        """A new file that its owner alone may read, or the store that is there already. Raises StoreError."""
        if os.path.lexists(path):
            _check_regular(path)
        path = real(path)
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, PRIVATE))
        except OSError as error:
            raise StoreError(f"{path} cannot be made ({error.strerror}): name another file with --db") from None
        with told(path):
            db = connect(path, read_only=False)
            try:
                if not recognise(db, path):
                    db.execute("PRAGMA journal_mode = WAL")
                migrate(db, path)
            finally:
                db.close()
        return cls(path)

    @classmethod
    def open(cls, path: Path, read_only: bool = False) -> Self:
        """The store at `path`, brought to this version's tables. `read_only`: nothing is ever written.

        Raises StoreError: there is none, it is another program's, of a newer bankml, or damaged.
        """
        if not os.path.lexists(path):
            raise StoreError(f"there is no knowledge base at {path}: {NO_STORE}")
        _check_regular(path)
        return cls(path, read_only)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """One state of the file, whatever is written meanwhile. Raises StoreError."""
        with told(self.path), self._pool.connection() as db:
            db.execute("BEGIN")
            try:
                db.execute("SELECT value FROM config WHERE key = 'generation'").fetchone()  # the state is of now
                yield db
            finally:
                if db.in_transaction:
                    db.execute("ROLLBACK")

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """The one transaction that writes: on the disk when the block ends, undone when it raises.

        Raises the generation when anything was written; BusyError when others write for a minute; StoreError.
        """
        if self.read_only:
            raise StoreError(f"{self.path} cannot be written: it, its folder or its disk is read-only")
        with told(self.path), self._pool.connection() as db:
            db.execute("BEGIN IMMEDIATE")
            before = db.total_changes
            try:
                yield db
                if db.total_changes != before:
                    config.raise_generation(db)
                db.execute("COMMIT")
            finally:
                if db.in_transaction:
                    db.execute("ROLLBACK")

    def close(self) -> None:
        """Lets go of the file; blocks that are open end as they would."""
        self._pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _first(self) -> sqlite3.Connection:
        db = connect(self.path, self.read_only)
        try:
            version = recognise(db, self.path)
            if version == 0:
                raise StoreError(f"{self.path} is empty: {NO_STORE}")
            if version < VERSION and self.read_only:
                raise StoreError(f"{self.path} is of an older bankml (schema {version}) and {_unmoved(self.path)}")
            migrate(db, self.path)
        except BaseException:
            db.close()
            raise
        return db


def _unmoved(path: Path) -> str:
    """Why it was not brought to this version's tables, and what does that."""
    if writable(path):
        return f"is opened read only here: open it once with `bankml workspace list --db {shlex.quote(str(path))}`"
    return "cannot be written here: copy it to where it can be, and open it once"


def _check_regular(path: Path) -> None:
    if not path.is_file():
        kind = "a folder" if path.is_dir() else "no regular file"
        raise StoreError(f"{path} is {kind}: name a file with --db")
