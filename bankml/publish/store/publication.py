"""What came of publishing a store, for people and for programs."""

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass
class Publication:
    """Of a dry run: what would have."""

    name: str
    database: str
    private_included: bool
    documents_included: bool
    dry_run: bool = False
    records: int = 0  # that are in the database now
    passages: int = 0  # likewise, of records and documents
    embedded: int = 0  # of these have a vector
    written: int = 0  # passages that were sent; the others were there already
    removed: int = 0  # passages that were there otherwise, or are not any more
    left_out: dict[str, int] = field(default_factory=dict)  # records and documents that were not published
    model: str | None = None
    digest: str | None = None
    dims: int | None = None
    why: str = ""  # why vectors are missing
    index: str = ""
    seconds: float = 0.0  # of the transaction
    index_seconds: float | None = None  # None: nothing was missing

    @property
    def embedding(self) -> str:
        """The sentence about vectors."""
        counts = f"{self.embedded} of {self.passages} passages embedded"
        model = f" with {self.model} ({self.digest[:8]}…)" if self.embedded and self.model and self.digest else ""
        return f"{counts}{model}{f': {self.why}' if self.why else ''}"

    def json(self) -> dict[str, Any]:
        """All of it."""
        return {**asdict(self), "embedding": self.embedding}
