"""`python -m tests.store.schemas`: the file of this version's schema, kept for ever once it is released.

Every later bankml must open it and bring it to its own tables: tests/store/test_schemas.py.
"""

import lzma
import os
import sqlite3
import tempfile
from pathlib import Path

import numpy as np

from bankml.store import (
    Assertion,
    Bound,
    Cited,
    DocumentRow,
    Passage,
    Record,
    Store,
    assertions,
    documents,
    records,
    vectors,
)
from bankml.store.record import passage
from bankml.store.schema import VERSION

FOLDER = Path(__file__).parent
BOUND = Bound("all-MiniLM-L6-v2", 4, "ab" * 32, "0123456789abcdef")
DOCUMENTS = {
    os.fsencode("/home/user/notes.md"): ["Ein Satz über Größe.", "A sentence about heaters."],
    b"/home/user/\xff\n.txt": ["ค้นหาความรู้", "知識ベースを検索"],
    b"stdin": ["the same", "the same"],
}
NOW = 1_700_000_000_000_000
RECORD = Record(
    id="rec_0123456789abcdef",
    title="Sessions expire",
    content="A token lives for an hour.",
    created_at=NOW,
    updated_at=NOW,
    category="decision",
    tags=("auth",),
    root=b"/home/user",
    cited=(Cited(b"src/auth.py", "ab" * 32, 7, 9),),
    provenance={"agent": "test"},
)


def make(path: Path) -> None:
    """A small store with something of everything."""
    with Store.create(path) as store, store.writing() as db:
        vectors.create(db, BOUND.dims)
        BOUND.write(db)
        for name, texts in DOCUMENTS.items():
            row = DocumentRow(name, "markdown", "A title", "0" * 64, 10, 1_700_000_000, "1")
            passages = [Passage(text, "Heading", 0, len(text), 1, None, 7) for text in texts]
            ids = [number for number, _ in documents.replace(db, row, passages).added]
            _embed(db, ids)
        put = records.put(db, RECORD, [passage(RECORD.content, RECORD.title, 0, 7)], "1")
        assertions.put(db, RECORD.id, Assertion(RECORD.content, RECORD.confidence, NOW, None, NOW))
        _embed(db, [number for number, _ in put.added])


def _embed(db: sqlite3.Connection, ids: list[int]) -> None:
    vectors.insert(db, ids, BOUND.fingerprint, np.full((len(ids), BOUND.dims), 0.5, np.float32))


def main() -> None:
    """Writes it, compressed: most of its pages are empty."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kb.db"
        make(path)
        (FOLDER / f"schema-{VERSION}.db.xz").write_bytes(lzma.compress(path.read_bytes()))


if __name__ == "__main__":
    main()
