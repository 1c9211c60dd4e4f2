"""Which records may be found at all."""

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bankml.errors import InputError
from bankml.library.search.passages import isin
from bankml.store.record import CATEGORIES, NAMESPACES, STATUSES, Record

ANY = "any"  # status
SESSION = "session"
FEW = 8  # of so many passages one or fewer that are wanted are looked up, else all are read


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
        (listed,) = db.execute(
            f"SELECT group_concat(r.document_id) FROM records r WHERE {' AND '.join(conditions)}",
            [value for some in values for value in some],
        ).fetchone()
        documents = np.sort(_numbers(listed))
        ids, owners = map(_numbers, _passages(db, documents.size, listed))
        kept = isin(owners, documents)
        order = np.flatnonzero(kept)[np.argsort(ids[kept], kind="stable")]  # they are in order, nearly always
        return np.stack([ids[order], owners[order]])

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


def _passages(db: sqlite3.Connection, documents: int, listed: str | None) -> tuple[str | None, str | None]:
    """Ids of passages and the document of each, at least those of the listed documents, of which there are so many.

    In columns, by SQLite's own aggregates: all of 100,000 take 15 ms so, one by one or looked up for each document 200.
    """
    (last,) = db.execute("SELECT max(id) FROM chunks").fetchone()
    few = "WHERE document_id IN (SELECT value FROM json_each(?))" if FEW * documents < (last or 0) else ""
    row: tuple[str | None, str | None] = db.execute(
        f"SELECT group_concat(id), group_concat(document_id) FROM chunks {few}", [f"[{listed or ''}]"] if few else []
    ).fetchone()
    return row


def _numbers(listed: str | None) -> NDArray[np.int64]:
    return np.fromstring(listed or "", np.int64, sep=",")


def one_of(name: str, given: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    """Each once. Raises InputError for one that is not known."""
    for one in (found := tuple(dict.fromkeys(_listed(given)))):
        if one not in known:
            raise InputError(f"{name} is {one!r}; choose of {', '.join(known)}")
    return found


def _listed(given: Sequence[str]) -> Sequence[str]:
    return (given,) if isinstance(given, str) else given
