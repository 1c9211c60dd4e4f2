"""What became of a reindex."""

import os
import sqlite3
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from bankml.store import Bound

NAMED = 100  # chunks without a vector that are named; all of them are counted


@dataclass(frozen=True, slots=True)
class Without:
    """A chunk that has no vector now: its document, its number there, and why."""

    chunk: int
    path: str
    seq: int
    error: str


@dataclass(slots=True)
class Reindexed:
    """Counts of a run, which grow while it works. `bound`: the model now, `before`: the one it succeeds."""

    bound: Bound
    before: Bound | None
    chunks: int = 0  # of the store
    embedded: int = 0  # chunks that got a new vector in this run
    resumed: int = 0  # chunks whose new vector an interrupted run had made
    texts: int = 0  # that were embedded, equal ones once
    tokens: int = 0  # of these
    truncated: int = 0  # chunks of more tokens than the model reads
    without: list[Without] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def done(self) -> int:
        """Chunks that have their new vector."""
        return self.resumed + self.embedded

    def object(self) -> dict[str, Any]:
        """As `bankml reindex --json` prints it."""
        return {
            "model": self.bound.model_name,
            "dims": self.bound.dims,
            "digest": self.bound.digest,
            "fingerprint": self.bound.fingerprint,
            "before": self.before and {"model": self.before.model_name, "dims": self.before.dims},
            "chunks": self.chunks,
            "embedded": self.embedded,
            "resumed": self.resumed,
            "texts": self.texts,
            "tokens": self.tokens,
            "truncated": self.truncated,
            "without_vector": len(self.without),
            "without": [asdict(one) for one in self.without[:NAMED]],
            "seconds": round(self.seconds, 3),
            "tokens_per_s": round(self.tokens / self.seconds, 1) if self.seconds else 0.0,
        }


def without(db: sqlite3.Connection, keys: Sequence[str], model: str) -> list[Without]:
    """The chunks of these keys, in the order of their ids."""
    found = [
        Without(chunk, os.fsdecode(path).lstrip("\0"), seq, f"{model} gives no finite vector for its text")
        for key in keys
        for chunk, path, seq in db.execute(
            """SELECT chunks.id, path, seq FROM chunks JOIN documents ON documents.id = document_id WHERE key = ?""",
            (key,),
        )
    ]
    return sorted(found, key=lambda one: one.chunk)
