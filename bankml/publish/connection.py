"""A connection to the database, whose every failure is a sentence."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from bankml.publish import dsn as dsns
from bankml.publish.refusal import refusal
from bankml.settings import Settings

Connection = psycopg.Connection[tuple[Any, ...]]


def place(connection: Connection) -> str:
    """The database in words."""
    info = connection.info
    return f"{info.dbname} on {info.host or info.hostaddr}:{info.port}"


@contextmanager
def connect(dsn: str | None = None, settings: Settings | None = None, read_only: bool = False) -> Iterator[Connection]:
    """A connection on which every statement outside of `transaction()` stands alone.

    Raises InputError for a DSN that cannot be read, StoreError for what the database refuses, also later on.
    """
    given = dsns.parameters(dsn, settings)
    where, connected = dsns.place(given), False
    try:
        connection = psycopg.connect(autocommit=True, **given)  # type: ignore[arg-type]
        connected = True
        with connection:
            connection.read_only = read_only or None  # None: what the server or the DSN says
            # Each statement sees what is committed when it begins: of those behind a lock, what stood before them too.
            connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
            yield connection
    except psycopg.Error as error:
        raise refusal(error, where, connected) from None
