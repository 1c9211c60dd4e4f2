"""Which records may be found at all."""

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bankml.errors import InputError
from bankml.store.record import CATEGORIES, NAMESPACES, STATUSES, Record

ANY = "any"  # status
SESSION = "session"


@dataclass(frozen=True, slots=True)
class Wanted:
    """A record passes that is of one of each, and has all `tags`; no categories or no namespaces: all of them.

    A record of the namespace `session` passes for its own session alone.
    """

    statuses: tuple[str, ...] = ("active",)
    categories: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    session: str = ""
    tags: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        statuses: Sequence[str] = ("active",),
        categories: Sequence[str] = (),
        namespaces: Sequence[str] = (),
        session: str = "",
        tags: Sequence[str] = (),
    ) -> "Wanted":
        """`statuses`: ("any",) for all. Raises InputError for what no record can be."""
        every = STATUSES if ANY in _listed(statuses) else one_of("status", statuses or ("active",), STATUSES)
        found = cls(
            tuple(every),
            one_of("category", categories, CATEGORIES),
            one_of("namespace", namespaces, NAMESPACES),
            session,
            tuple(dict.fromkeys(_listed(tags))),
        )
        if SESSION in found.namespaces and not session:
            raise InputError("the namespace is 'session', and no session is named: say which with --session")
        return found

    def passages(self, db: sqlite3.Connection) -> NDArray[np.int64]:
        """(2, m): passages of the records that pass, ascending, and the document that each belongs to."""
        conditions, values = zip(*self._conditions(), strict=True)
        rows = db.execute(
            f"""SELECT c.id, c.document_id FROM records r JOIN chunks c ON c.document_id = r.document_id
            WHERE {" AND ".join(conditions)} ORDER BY c.id""",
            [value for some in values for value in some],
        ).fetchall()
        return np.ascontiguousarray(np.array(rows, np.int64).reshape(-1, 2).T)

    def passes(self, record: Record) -> bool:
        """As `passages`, of one record."""
        return (
            record.status in self.statuses
            and (not self.categories or record.category in self.categories)
            and (not self.namespaces or record.namespace in self.namespaces)
            and (record.namespace != SESSION or record.session == self.session != "")
            and set(self.tags) <= set(record.tags)
        )

    def _conditions(self) -> Iterator[tuple[str, Sequence[Any]]]:
        for column, some in (("status", self.statuses), ("category", self.categories), ("namespace", self.namespaces)):
            if some:
                yield f"r.{column} IN ({', '.join('?' * len(some))})", some
        yield "(r.namespace != ? OR (r.session = ? AND r.session != ''))", (SESSION, self.session)
        for tag in self.tags:
            yield "EXISTS (SELECT 1 FROM json_each(r.tags) AS tag WHERE tag.value = ?)", (tag,)


def one_of(name: str, given: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    """Each once. Raises InputError for one that is not known."""
    for one in (found := tuple(dict.fromkeys(_listed(given)))):
        if one not in known:
            raise InputError(f"{name} is {one!r}; choose of {', '.join(known)}")
    return found


def _listed(given: Sequence[str]) -> Sequence[str]:
    return (given,) if isinstance(given, str) else given
