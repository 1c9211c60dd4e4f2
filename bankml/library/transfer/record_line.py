"""The line of a record in an exported knowledge base: all that is known of it but its passages, which follow."""

from typing import Annotated, Any, Self

import msgspec
import pybase64
from msgspec import Meta, Struct

from bankml import store
from bankml.errors import InputError
from bankml.store.record import Category, Freshness, Namespace, Status

RecordId = Annotated[str, Meta(pattern="^rec_[0-9a-f]{16}$")]
Instant = Annotated[int, Meta(ge=-(2**62), le=2**62)]
Share = Annotated[float, Meta(ge=0, le=1)]
Count = Annotated[int, Meta(ge=0, le=2**62)]


class Path(Struct, omit_defaults=True):
    """A `path`, or where its bytes are no text, `base64`."""

    path: str = ""
    base64: str | None = None

    @classmethod
    def of(cls, path: bytes) -> Self:
        try:
            return cls(path.decode())
        except UnicodeDecodeError:
            return cls(base64=pybase64.b64encode(path).decode("ascii"))

    def bytes(self) -> bytes:
        """Raises InputError."""
        if self.base64 is None:
            return self.path.encode()
        try:
            return pybase64.b64decode(self.base64, validate=True)
        except ValueError:
            raise InputError("the path is no base64") from None


class Cited(Struct, omit_defaults=True):
    """As store.Cited."""

    file: Path
    sha256: Annotated[str, Meta(pattern="^([0-9a-f]{64})?$")] = ""
    size: Count = 0
    modified: Instant = 0


class Assertion(Struct, omit_defaults=True):
    """As store.Assertion."""

    content: str
    confidence: Share
    valid_from: Instant
    recorded_at: Instant
    valid_to: Instant | None = None
    provenance: dict[str, Any] = {}


class Feedback(Struct, omit_defaults=True):
    """As store.Feedback."""

    verdict: str
    recorded_at: Instant
    note: str = ""
    provenance: dict[str, Any] = {}


class Record(Struct, omit_defaults=True):
    """As store.Record; `document_id`, `added_at`, `recipe`: of the document that its passages belong to."""

    id: RecordId
    document_id: Annotated[int, Meta(ge=1, le=2**53)]
    title: str
    content: str
    created_at: Instant
    updated_at: Instant
    added_at: Annotated[int, Meta(ge=-(2**53), le=2**53)]
    recipe: str
    reasoning: str = ""
    category: Category = "fact"
    tags: list[str] = []
    confidence: Share = 1.0
    status: Status = "active"
    freshness: Freshness = "current"
    namespace: Namespace = "project"
    session: str = ""
    root: Path = msgspec.field(default_factory=Path)
    cited: list[Cited] = []
    provenance: dict[str, Any] = {}
    superseded_by: RecordId | None = None
    assertions: list[Assertion] = []
    feedback: list[Feedback] = []

    @classmethod
    def of(
        cls,
        record: store.Record,
        document: tuple[int, int, str],
        assertions: list[store.Assertion],
        feedback: list[store.Feedback],
    ) -> Self:
        """`document`: its id, when it was added, its recipe."""
        document_id, added_at, recipe = document
        facts = {name: getattr(record, name) for name in SAME}
        return cls(
            document_id=document_id,
            added_at=added_at,
            recipe=recipe,
            tags=list(record.tags),
            root=Path.of(record.root),
            cited=[Cited(Path.of(file.path), file.sha256, file.size, file.modified) for file in record.cited],
            provenance=dict(record.provenance),
            assertions=[_assertion(each) for each in assertions],
            feedback=[Feedback(each.verdict, each.recorded_at, each.note, dict(each.provenance)) for each in feedback],
            **facts,
        )

    def record(self) -> store.Record:
        """Raises InputError for a path that is none."""
        return store.Record(
            tags=tuple(self.tags),
            root=self.root.bytes(),
            cited=tuple(store.Cited(each.file.bytes(), each.sha256, each.size, each.modified) for each in self.cited),
            provenance=self.provenance,
            **{name: getattr(self, name) for name in SAME},
        )

    def said(self) -> list[store.Assertion]:
        return [
            store.Assertion(a.content, a.confidence, a.valid_from, a.valid_to, a.recorded_at, a.provenance)
            for a in self.assertions
        ]

    def told(self) -> list[store.Feedback]:
        return [store.Feedback(each.verdict, each.note, each.recorded_at, each.provenance) for each in self.feedback]


SAME = (
    *("id", "title", "content", "created_at", "updated_at", "reasoning", "category", "confidence", "status"),
    *("freshness", "namespace", "session", "superseded_by"),
)


def _assertion(of: store.Assertion) -> Assertion:
    return Assertion(of.content, of.confidence, of.valid_from, of.recorded_at, of.valid_to, dict(of.provenance))
