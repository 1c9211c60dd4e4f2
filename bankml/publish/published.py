"""What came of publishing, for people and for programs."""

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass
class Published:
    """The result of `publish`; of a dry run, what it would have been."""

    agent: str
    database: str
    private_included: bool
    dry_run: bool = False
    lines: int = 0  # that are in the database now
    exchanges: int = 0  # in them
    embedded: int = 0  # of these have a vector
    model: str | None = None
    digest: str | None = None
    dims: int | None = None
    why: str = ""  # why there are no vectors
    index: str = ""  # its kind, or why there is none
    seconds: float = 0.0  # of the transaction
    index_seconds: float | None = None  # None: it was kept
    would: list[str] = field(default_factory=list)  # of a dry run: what it would do

    @property
    def embedding(self) -> str:
        """The sentence about vectors."""
        if not self.private_included:
            return self.why
        counts = f"{self.embedded} of {self.exchanges} exchanges embedded"
        if self.model is None or self.digest is None:
            return f"{counts}: {self.why}"
        return f"{counts} with {self.model} ({self.digest[:8]}…){f': {self.why}' if self.why else ''}"

    def json(self) -> dict[str, Any]:
        return {**asdict(self), "embedding": self.embedding}
