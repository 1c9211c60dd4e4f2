"""What became of the files that were to be added."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Failed:
    """A file that was not read; what the store held of it stays. `path`: as text, whatever its bytes are."""

    path: str
    error: str


@dataclass(frozen=True, slots=True)
class Note:
    """What somebody should know of a file that was added: a page without text, a character that was none."""

    path: str
    note: str


@dataclass(slots=True)
class Added:
    """Counts of a run, which grow while it works. `chunks`: of the documents that it added or updated."""

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    failed: list[Failed] = field(default_factory=list)
    chunks: int = 0
    embedded: int = 0  # vectors that were computed
    with_vector: int = 0  # chunks that have one now, those of documents that did not change left out
    without_vector: int = 0  # chunks that words alone find
    truncated: int = 0  # chunks of more tokens than the model reads
    removed: int = 0  # documents whose file is gone or is left out now
    skipped: dict[str, int] = field(default_factory=dict)  # files that were passed over, by reason
    notes: list[Note] = field(default_factory=list)
    tokens: int = 0  # that were embedded
    bytes: int = 0  # of the files that are done with
    seconds: float = 0.0
    status: str = ""  # why chunks have no vector
    finished: bool = False  # nothing cut the work short

    @property
    def files(self) -> int:
        """Files that are done with."""
        return self.added + self.updated + self.unchanged + len(self.failed)

    @property
    def in_vain(self) -> int:
        """Vectors that were computed and not stored, for another process had stored those documents meanwhile."""
        return max(0, self.embedded - self.with_vector) if self.finished else 0

    @property
    def stored(self) -> int:
        """Vectors that were computed and stored."""
        return self.embedded - self.in_vain

    @property
    def reused(self) -> int:
        """Chunks whose vector was there: of the same text in this document or another."""
        return max(0, self.with_vector - self.embedded)

    @property
    def tokens_per_s(self) -> float:
        """Of the whole run, reading and storing included."""
        return self.tokens / self.seconds if self.seconds else 0.0

    @property
    def anything(self) -> bool:
        """Whether anything came of it."""
        return bool(self.added or self.updated or self.embedded or self.removed or self.failed)

    def fail(self, path: str, error: str) -> None:
        """One more file that is named, and does not stop the others."""
        self.failed.append(Failed(path, error))

    def object(self) -> dict[str, Any]:
        """As `bankml add --json` prints it."""
        return {
            "added": self.added,
            "updated": self.updated,
            "unchanged": self.unchanged,
            "failed": [{"path": one.path, "error": one.error} for one in self.failed],
            "chunks": self.chunks,
            "embedded": self.stored,
            "reused": self.reused,
            "without_vector": self.without_vector,
            "truncated": self.truncated,
            "removed": self.removed,
            "skipped": self.skipped,
            "notes": [{"path": one.path, "note": one.note} for one in self.notes],
            "tokens": self.tokens,
            "seconds": round(self.seconds, 3),
            "tokens_per_s": round(self.tokens_per_s, 1),
            "status": self.status,
            "finished": self.finished,
        }
