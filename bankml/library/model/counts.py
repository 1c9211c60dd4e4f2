"""What a store holds, counted."""

import sqlite3
from dataclasses import dataclass, field
from typing import Self

from bankml.store.record import TYPE


@dataclass(frozen=True, slots=True)
class Counts:
    """`records`: by their status. `vectors`: of chunks that are there, by their fingerprint; `orphans`: vectors without
    chunk, chunks without document.
    """

    types: dict[str, int] = field(default_factory=dict)  # of the documents, records left out
    records: dict[str, int] = field(default_factory=dict)
    chunks: int = 0
    vectors: dict[str, int] = field(default_factory=dict)
    orphans: int = 0

    @classmethod
    def of(cls, db: sqlite3.Connection) -> Self:
        """Of the store's state in this transaction."""
        types = dict(db.execute("SELECT type, count(*) FROM documents GROUP BY 1 ORDER BY 2 DESC, 1").fetchall())
        types.pop(TYPE, None)
        records = dict(db.execute("SELECT status, count(*) FROM records GROUP BY 1 ORDER BY 1").fetchall())
        (chunks,) = db.execute("SELECT count(*) FROM chunks").fetchone()
        vectors = dict(db.execute("SELECT fingerprint, count(*) FROM chunks_vec GROUP BY 1").fetchall())
        stray = db.execute(
            "SELECT fingerprint, count(*) FROM chunks_vec WHERE chunk_id NOT IN (SELECT id FROM chunks) GROUP BY 1"
        ).fetchall()
        for recipe, count in stray:
            vectors[recipe] -= count
        query = "SELECT count(*) FROM chunks WHERE document_id NOT IN (SELECT id FROM documents)"
        (lost,) = db.execute(query).fetchone()
        return cls(types, records, chunks, vectors, lost + sum(count for _, count in stray))

    @property
    def documents(self) -> int:
        """How many there are."""
        return sum(self.types.values())

    @property
    def missing(self) -> int:
        """Chunks without any vector."""
        return self.chunks - sum(self.vectors.values())

    def embedded(self, recipe: str) -> int:
        """Chunks with a vector of this recipe."""
        return self.vectors.get(recipe, 0)

    def foreign(self, recipe: str) -> int:
        """Chunks with one of another."""
        return sum(self.vectors.values()) - self.embedded(recipe)
