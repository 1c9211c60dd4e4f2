"""Records in a store, as they are written, with passages that a test chooses."""

from collections.abc import Sequence
from typing import Any

from bankml.embedders import Embedder
from bankml.library.model import binding
from bankml.library.model.fingerprint import fingerprint
from bankml.store import Assertion, Cited, Record, Store, assertions, records, vectors
from bankml.store.record import passage

SECOND = 1_000_000  # microseconds
BEGINNING = 1_700_000_000 * SECOND


def record(number: int, title: str, content: str = "", *paths: str | bytes, **more: Any) -> Record:
    """Of the id `rec_…number`, cited paths that nobody looks at, and times that rise with the number."""
    cited = tuple(Cited(path if isinstance(path, bytes) else path.encode()) for path in paths)
    at = BEGINNING + number * SECOND
    facts = {"created_at": at, "updated_at": at, "cited": cited} | more
    return Record(f"rec_{number:016x}", title, content or title, **facts)


def remember(
    store: Store, embedder: Embedder | None, *given: Record, passages: Sequence[str] | None = None
) -> list[int]:
    """Puts and asserts them, embedded where there is an embedder; the ids of the new passages.

    `passages`: of each record.
    """
    found: list[int] = []
    for one in given:
        texts = passages or [one.content]
        with store.writing() as db:
            added = records.put(db, one, [passage(text, one.title, 0, 9) for text in texts], "1").added
            assertions.put(db, one.id, Assertion(one.content, one.confidence, one.created_at, None, one.created_at))
            ids = [id for id, _ in added]
            if embedder and ids:
                binding.check(db, embedder)
                vectors.insert(db, ids, fingerprint(embedder), embedder.embed([text for _, text in added]))
        found += ids
    return found
