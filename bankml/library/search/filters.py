"""What may be found at all: passages of documents of certain paths, types and dates."""

import json
import os
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from bankml.errors import InputError
from bankml.library.search.glob import Glob
from bankml.library.search.passages import Ids
from bankml.store import record
from bankml.store.schema import LARGEST_ID


@dataclass(frozen=True, slots=True)
class Filters:
    """A document passes whose path matches one of `paths` and whose type is one of `types`. Times are Unix's."""

    paths: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    after: float | None = None  # modified then or later
    before: float | None = None  # modified earlier
    document: int | None = None

    @classmethod
    def of(
        cls,
        path: str | Sequence[str] | None = None,
        type: str | Sequence[str] | None = None,
        after: str | datetime | None = None,
        before: str | datetime | None = None,
        document: int | None = None,
    ) -> "Filters":
        """Raises InputError for what is no date, an empty glob or type, and a document that no store can have."""
        if document is not None and not 0 < document <= LARGEST_ID:
            raise InputError(f"document is {document!r}; give a document's id, which `bankml search --json` prints")
        return cls(
            _listed("path", path, "a glob such as 'notes/**/*.md'"),
            _listed("type", type, "one such as markdown"),
            _date("after", after),
            _date("before", before),
            document,
        )

    def __bool__(self) -> bool:
        return self != Filters()

    def documents(self, db: sqlite3.Connection) -> list[int]:
        """The documents that pass; a record is none."""
        asked = [("document", "id = ?"), ("after", "modified >= ?"), ("before", "modified < ?")]
        given = [(getattr(self, name), condition) for name, condition in asked if getattr(self, name) is not None]
        conditions = " AND ".join(["type != ?", *[condition for _, condition in given]])
        rows = db.execute(
            f"SELECT id, path, type FROM documents WHERE {conditions}", [record.TYPE, *[value for value, _ in given]]
        ).fetchall()
        globs = [Glob(path) for path in self.paths]
        return [
            id
            for id, path, kind in rows
            if (not self.types or kind in self.types)
            and (not globs or any(glob.matches(os.fsdecode(path)) for glob in globs))
        ]

    def allowed(self, db: sqlite3.Connection) -> Ids:
        """The passages that pass, ascending."""
        rows = db.execute(
            "SELECT id FROM chunks WHERE document_id IN (SELECT value FROM json_each(?))",
            (json.dumps(self.documents(db)),),
        )
        return np.sort(np.fromiter((row[0] for row in rows), np.int64))


def _listed(name: str, given: str | Sequence[str] | None, example: str) -> tuple[str, ...]:
    found = (given,) if isinstance(given, str) else tuple(given or ())
    if not all(one.strip() for one in found):
        raise InputError(f"{name} is '': give {example}, or leave it out")
    return found


def _date(name: str, given: str | datetime | None) -> float | None:
    """Seconds; a date is its first moment, and one without a zone is of this machine's."""
    try:
        found = datetime.fromisoformat(given.strip()) if isinstance(given, str) else given
        return None if found is None else found.timestamp()
    except (ValueError, OverflowError, OSError):
        raise InputError(f"{name} is {given!r}; give a date such as 2026-01-31 or 2026-01-31T09:30") from None
