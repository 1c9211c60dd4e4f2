"""The one record that the beginning of an id names."""

import sqlite3

from bankml.errors import InputError
from bankml.store.record import PREFIX
from bankml.utf8 import whole

SHOWN = 3  # of the records that a beginning fits
LONGEST = 200  # characters of an id that are told


def named(db: sqlite3.Connection, beginning: str) -> str:
    """The whole id. Raises InputError where no record's begins so, or several do and none is just that."""
    given = whole(beginning).strip()
    if not given:
        raise InputError("the id is empty: give a record's, or how it begins")
    wanted = given if given.startswith(PREFIX) or PREFIX.startswith(given) else PREFIX + given
    rows = db.execute(
        "SELECT id FROM records WHERE id >= ?1 AND substr(id, 1, ?2) = ?1 ORDER BY id LIMIT ?3",
        (wanted, len(wanted), SHOWN + 1),
    )
    found = [row[0] for row in rows]
    if len(found) == 1 or found[:1] == [wanted]:
        return str(found[0])
    told = repr(given[:LONGEST])
    if not found:
        raise InputError(
            f"there is no record whose id begins with {told}: `bankml query` shows the ids of those it finds"
        )
    some = ", ".join(found[:SHOWN]) + (", …" if len(found) > SHOWN else "")
    raise InputError(f"several records have ids that begin with {told} ({some}): give more of it")
