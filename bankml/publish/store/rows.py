"""Rows as they are published, each with a digest of all that is in it: what is equal there is not sent again."""

import os
import sqlite3
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from bankml.memory.freshness import seen
from bankml.publish.store.storable import storable
from bankml.store import Bound, assertions, record, records
from bankml.store.passage import embedded
from bankml.store.record import Assertion, Record
from bankml.terms import tokens

RECIPE = 1  # how rows are made: another one makes other rows of what is the same in the store
PASSAGES = """SELECT c.id, r.id, c.document_id, c.seq, d.path, d.title, d.type, c.heading, c.text, c.line, c.page,
    c.key, v.fingerprint, v.vector
    FROM chunks c JOIN documents d ON d.id = c.document_id LEFT JOIN records r ON r.document_id = d.id
    LEFT JOIN chunks_vec v ON v.chunk_id = c.id"""
Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class RecordRow:
    """`columns` in the order of `RECORD_COLUMNS`, each assertion's in that of `ASSERTION_COLUMNS`."""

    id: str
    digest: int
    columns: Row
    assertions: tuple[Row, ...]


RECORD_COLUMNS = (
    "id, title, content, reasoning, category, tags, confidence, status, freshness, namespace, session, paths, "
    "names, provenance, superseded_by, created_at, updated_at"
).split(", ")
ASSERTION_COLUMNS = "seq, content, confidence, valid_from, valid_to, recorded_at, provenance".split(", ")


@dataclass(frozen=True, slots=True)
class PassageRow:
    """`columns` in the order of `PASSAGE_COLUMNS`; `vector`: little-endian float32 of unit length, or None."""

    id: int
    digest: int
    columns: Row
    vector: bytes | None

    @property
    def terms(self) -> list[str]:
        """As the store has them."""
        *_, heading, text, _line, _page, _key = self.columns
        return tokens(embedded(heading, text))


PASSAGE_COLUMNS = "id, record, document, seq, path, title, type, heading, text, line, page, key".split(", ")


def record_rows(db: sqlite3.Connection, found: Collection[Record], private: bool) -> Iterator[RecordRow]:
    """`found`: all records that are published. Provenance may name people, sessions and folders: it is private."""
    ids = {each.id for each in found}
    for each in found:
        provenance = dict(each.provenance) if private else {}
        columns = storable(
            [
                *(each.id, each.title, each.content, each.reasoning, each.category, list(each.tags), each.confidence),
                *(each.status, seen(each), each.namespace, each.session),
                [file.path.decode("utf-8", "replace") for file in each.cited],
                sorted({records.file_name(file.path) for file in each.cited}),
                *(provenance, each.superseded_by if each.superseded_by in ids else None),
                *(each.created_at, each.updated_at),
            ]
        )
        said = tuple(_assertion(seq, assertion, private) for seq, assertion in enumerate(assertions.of(db, each.id)))
        yield RecordRow(columns[0], _digest((*columns, *said)), tuple(columns), said)


def passage_rows(
    db: sqlite3.Connection,
    record_ids: Collection[str],
    document_ids: Collection[int],
    bound: Bound | None,
    only: Collection[int] | None = None,
) -> Iterator[PassageRow]:
    """Passages of these records and documents, ids ascending, with the vectors of the store's own recipe alone.

    `only`: those of them with these ids.
    """
    home = f"{Path.home()}/"
    for id, of_record, document, seq, path, title, type, heading, text, line, page, key, made_by, vector in db.execute(
        f"{PASSAGES} ORDER BY c.id"
    ):
        if only is not None and id not in only:
            continue
        if (of_record not in record_ids) if of_record is not None else (document not in document_ids):
            continue
        shown = "" if type == record.TYPE else _shown(os.fsdecode(path), home)
        columns = storable([id, of_record, document, seq, shown, title, type, heading, text, line, page, key])
        usable = vector if bound and made_by == bound.fingerprint and _usable(vector, bound.dims) else None
        digest = _digest((*columns, bound.fingerprint if usable and bound else ""), usable or b"")
        yield PassageRow(id, digest, tuple(columns), usable)


def _assertion(seq: int, found: Assertion, private: bool) -> Row:
    provenance: Mapping[str, Any] = found.provenance if private else {}
    times = (found.valid_from, found.valid_to, found.recorded_at)
    return (seq, storable(found.content), found.confidence, *times, storable(dict(provenance)))


def _shown(path: str, home: str) -> str:
    """Without the name of whose folder it is."""
    return f"~/{path.removeprefix(home)}" if path.startswith(home) else path


def _usable(vector: bytes, dims: int) -> bool:
    """Whether PostgreSQL takes it and a cosine to it is a number."""
    numbers = np.frombuffer(vector, "<f4") if len(vector) == 4 * dims else np.zeros(1)
    return bool(np.isfinite(numbers).all() and numbers.any())


def _digest(columns: Row, vector: bytes = b"") -> int:
    made = blake2b(repr((RECIPE, columns)).encode(), digest_size=8)
    made.update(vector)
    return int.from_bytes(made.digest(), "big", signed=True)
