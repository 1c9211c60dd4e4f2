"""What of a store is published: never what is private, unless that was asked for.

Private are the records of a session, records with the tag `private`, and documents in a folder, or of a file, that is
named so. Their passages, words and vectors are private with them.
"""

import os
import re
import sqlite3
from dataclasses import dataclass
from pathlib import PurePosixPath

from bankml.library.search.filters import Filters
from bankml.store import record, records

PRIVATE = "private"


@dataclass(frozen=True)
class Choice:
    """`documents`: chunks of documents too; of these only such as `paths`, globs, match, if there are any."""

    private: bool = False
    documents: bool = True
    paths: tuple[str, ...] = ()

    def of_records(self, db: sqlite3.Connection) -> list[record.Record]:
        """Those that are published, by id."""
        ids = [row[0] for row in db.execute("SELECT id FROM records ORDER BY id")]
        return [found for found in records.several(db, ids) if self.private or not is_private(found)]

    def of_documents(self, db: sqlite3.Connection) -> set[int]:
        """The ids of those that are published."""
        if not self.documents:
            return set()
        wanted = Filters.of(path=list(self.paths)).documents(db)
        names = dict(db.execute("SELECT id, path FROM documents WHERE type != ?", (record.TYPE,)))
        return {id for id in wanted if self.private or not named_private(os.fsdecode(names[id]))}


def is_private(found: record.Record) -> bool:
    """Of a session, or tagged so."""
    return found.namespace == "session" or any(tag.strip().casefold() == PRIVATE for tag in found.tags)


def named_private(path: str) -> bool:
    """Whether a folder of the path, or its file without its ending, is named `private`, with dots before it or not."""
    parts = PurePosixPath(path).parts
    return any(re.match(rf"\.*{PRIVATE}(\.|$)", part.casefold()) for part in parts)
