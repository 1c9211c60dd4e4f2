"""One publisher at a time in a database, also where the tables are yet to be made."""

from collections.abc import Iterator
from contextlib import contextmanager

from bankml.publish.connection import Connection

KEY = 0x62616E6B6D6C  # "bankml"
PUBLISHERS = "600s"  # that one publisher waits for another
SESSIONS = "30s"  # that it waits for others who use the tables, and keeps new ones waiting


@contextmanager
def locked(connection: Connection) -> Iterator[None]:
    """A transaction that no other publisher's overlaps."""
    with connection.transaction():
        connection.execute("SELECT set_config('lock_timeout', %s, true)", (PUBLISHERS,))
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (KEY,))
        connection.execute("SELECT set_config('lock_timeout', %s, true)", (SESSIONS,))
        yield
