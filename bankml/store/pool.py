"""The connections of a store that wait to be used again."""

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from weakref import WeakSet

from bankml.errors import StoreError


class Pool:
    """For many threads, each of which has a connection of its own while it needs one.

    A forked process must not use, nor close, nor even have SQLite's connections: it would take its parent's locks for
    its own, and what it writes would be gone when its parent deletes the journal. So they are closed before a fork.
    """

    def __init__(self, name: str, connect: Callable[[], sqlite3.Connection]) -> None:
        """`name`: of the store, for errors."""
        self._name, self._connect = name, connect
        self._lock = threading.Lock()
        self._idle: list[sqlite3.Connection] = []
        self._used = 0
        self._refused = ""
        self._inherited = False  # from the process that forked this one
        _POOLS.add(self)

    @contextmanager
    def connection(self) -> Iterator[sqlite3.Connection]:
        """One for this block. Raises sqlite3.Error, StoreError."""
        db = self._taken()
        try:
            yield db
        finally:
            self.give(db)

    def give(self, db: sqlite3.Connection, used: int = 1) -> None:
        """For others to use. `used`: 0 of one that did not come from here."""
        with self._lock:
            self._used -= used
            if self._inherited:
                _LEFT.append(db)
                return
            if not self._refused:
                self._idle.append(db)
                return
        db.close()

    def close(self) -> None:
        """Lets go of all; those that are in use are closed when they are given back."""
        with self._lock:
            self._refused = "was closed: open it again"
            self._close_idle()

    def _taken(self) -> sqlite3.Connection:
        with self._lock:
            if self._refused:
                raise StoreError(f"{self._name} {self._refused}")
            self._used += 1
            if self._idle:
                return self._idle.pop()
        try:
            return self._connect()
        except BaseException:
            with self._lock:
                self._used -= 1
            raise

    def _close_idle(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def before_fork(self) -> None:
        self._lock.acquire()
        self._close_idle()

    def after_fork(self, child: bool) -> None:
        if child and self._used:
            self._inherited, self._refused = (
                True,
                "was being used when this process was forked: start processes by `spawn`",
            )
        self._lock.release()


_POOLS: WeakSet[Pool] = WeakSet()
_LEFT: list[sqlite3.Connection] = []  # of the parent's; to forget one is to close it
_FORK = threading.Lock()  # one fork at a time
_forking: list[Pool] = []  # whose locks it holds


def _before() -> None:
    _FORK.acquire()
    _forking[:] = list(_POOLS)
    for pool in _forking:
        pool.before_fork()


def _after(child: bool) -> None:
    while _forking:
        _forking.pop().after_fork(child)
    _FORK.release()


os.register_at_fork(
    before=_before, after_in_parent=lambda: _after(child=False), after_in_child=lambda: _after(child=True)
)
