"""Records with their history go out and come back; what a store knows better stays."""

import io
import json
from dataclasses import replace

import numpy as np
import pytest

from bankml.errors import InputError
from bankml.library.transfer.exporting import Moved, export
from bankml.library.transfer.importing import restore
from bankml.library.transfer.incoming import whole
from bankml.library.upkeep.doctor.records import records as look
from bankml.store import (
    Assertion,
    Bound,
    Cited,
    DocumentRow,
    Feedback,
    Passage,
    Record,
    Store,
    assertions,
    documents,
    feedback,
    records,
    vectors,
)
from bankml.store.record import passage
from tests.library.whole import faults

OLD, NEW = "rec_00000000000000aa", "rec_00000000000000bb"
NOW = 1_700_000_000_000_000
RECORD = Record(
    id=OLD,
    title="Sessions \u2028 expire",
    content="A token lives for an hour.\n\x1b[31m",
    created_at=NOW,
    updated_at=NOW + 5,
    reasoning="shorter annoys",
    category="decision",
    tags=("auth", "a, b"),
    confidence=0.75,
    status="superseded",
    freshness="stale",
    namespace="session",
    session="s1",
    root=b"/home/\xff",
    cited=(Cited(b"src/Auth.py", "ab" * 32, 7, 2**60), Cited(b"caf\xe9")),
    provenance={"agent": "test", "n": [1, None]},
    superseded_by=NEW,
)
BOUND = Bound("a-model", 4, "ab" * 32, "0123456789abcdef")
TABLES = ("documents", "chunks", "chunks_vec", "records", "cited", "assertions", "feedback")


def put(store: Store, record: Record, *texts: str) -> list[int]:
    with store.writing() as db:
        added = records.put(db, record, [passage(text, record.title, 0, 5) for text in texts or (record.content,)], "1")
        return [id for id, _ in added.added]


@pytest.fixture
def full(tmp_path):
    """A document, a record that another superseded, and a gap in the ids."""
    with Store.create(tmp_path / "from.db") as store:
        with store.writing() as db:
            BOUND.write(db)
            vectors.create(db, BOUND.dims)
            row = DocumentRow(b"/a.md", "text", "", "0" * 64, 1, 1, "r")
            documents.replace(db, row, [Passage("A file.", "", 0, 7, 1, None, 3)])
        put(store, replace(RECORD, id="rec_00000000000000cc", superseded_by=None))
        ids = put(store, replace(RECORD, superseded_by=None), "one", "two")
        put(store, Record(NEW, "Sessions stay", "For a day.", NOW, NOW))
        with store.writing() as db:
            db.execute("DELETE FROM documents WHERE path = ?", (records.document_path("rec_00000000000000cc"),))
            vectors.insert(db, ids, BOUND.fingerprint, np.full((2, 4), 0.5, np.float32))
            records.mark(db, OLD, NOW, superseded_by=NEW)
            assertions.put(db, OLD, Assertion("An hour, then.", 0.5, NOW - 9, None, NOW - 9))
            assertions.put(db, OLD, Assertion(RECORD.content, 0.75, NOW, None, NOW, {"by": "x"}))
            assertions.put(db, NEW, Assertion("For a day.", 1.0, NOW, None, NOW))
            feedback.put(db, OLD, Feedback("wrong", "not so", NOW + 1, {"agent": "y"}))
        yield store


@pytest.fixture
def new(tmp_path):
    with Store.create(tmp_path / "to.db") as store:
        yield store


def sent(store: Store) -> bytes:
    return b"".join(export(store, Moved()))


def taken(store: Store, content: bytes):
    with whole(io.BytesIO(content), "kb.jsonl") as found:
        return restore(store, found)


def state(store: Store) -> dict[str, list[tuple]]:
    with store.reading() as db:
        return {table: db.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall() for table in TABLES}


def test_a_new_store_becomes_the_same(full, new):
    moved = taken(new, sent(full))
    assert (moved.documents, moved.records, moved.chunks, moved.vectors) == (1, 2, 4, 2)
    assert state(new) == state(full)
    assert sent(new) == sent(full)
    assert faults(new) == []
    with new.reading() as db:
        assert records.find(db, OLD) == RECORD
    assert look(new).ok


def test_twice_is_once(full, new):
    taken(new, sent(full))
    before = {table: rows for table, rows in state(new).items() if table != "documents"}  # which tell when
    taken(new, sent(full))
    assert {table: rows for table, rows in state(new).items() if table != "documents"} == before


def test_a_store_that_knows_better_keeps_what_it_knows(full, new):
    put(new, replace(RECORD, content="Newer.", updated_at=NOW + 99, superseded_by=None))
    with new.writing() as db:
        assertions.put(db, OLD, Assertion("An hour, then.", 0.5, NOW - 9, None, NOW - 9))
        assertions.put(db, OLD, Assertion("Newer.", 1.0, NOW + 50, None, NOW + 50))
    taken(new, sent(full))
    with new.reading() as db:
        assert records.find(db, OLD).content == "Newer."
        said = assertions.of(db, OLD)
    assert [(each.content, each.valid_to) for each in said] == [
        ("An hour, then.", NOW + 50),
        (RECORD.content, None),
        ("Newer.", None),
    ]


def test_an_older_record_gives_way(full, new):
    put(new, replace(RECORD, content="Older.", updated_at=NOW - 99, superseded_by=None))
    taken(new, sent(full))
    with new.reading() as db:
        assert records.find(db, OLD) == RECORD


def test_a_successor_that_is_nowhere_is_left_out(full, new):
    lines = list(sent(full).splitlines(keepends=True))
    gone = next(number for number, line in enumerate(lines) if NEW in str(json.loads(line).get("record", {}).get("id")))
    end = json.loads(lines[-1])
    end["end"] |= {"records": 1, "chunks": 3}
    taken(new, b"".join([*lines[:gone], *lines[gone + 2 : -1], json.dumps(end).encode() + b"\n"]))
    with new.reading() as db:
        assert records.find(db, OLD) == replace(RECORD, superseded_by=None)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"id": "rec_x"}, "rec_"),
        ({"category": "opinion"}, "opinion"),
        ({"confidence": 2}, "confidence"),
        ({"root": {"base64": "?"}}, "no base64"),
        ({"cited": [{"file": {"path": "a"}, "sha256": "x"}]}, "sha256"),
        ({"document_id": 1}, "the id 1 stands"),
        ({"id": NEW}, "record of this id"),
    ],
)
def test_a_hostile_record_is_a_sentence_and_nothing_is_imported(full, new, change, said):
    lines = sent(full).splitlines()
    at = next(number for number, line in enumerate(lines) if json.loads(line).get("record", {}).get("id") == OLD)
    found = json.loads(lines[at])
    found["record"] |= change
    lines[at] = json.dumps(found).encode()
    with pytest.raises(InputError, match=said):
        taken(new, b"\n".join(lines) + b"\n")
    assert state(new)["documents"] == []
