"""An exported knowledge base into a store: all of it, or nothing."""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bankml.errors import MismatchError
from bankml.library.model import binding
from bankml.library.transfer.exporting import Moved
from bankml.library.transfer.incoming import Export, Incoming, Part
from bankml.library.transfer.record_line import Record
from bankml.models import same
from bankml.store import Assertion, Bound, Store, assertions, config, documents, feedback, records, vectors


@dataclass(slots=True)
class Imported(Moved):
    """`renumbered`: the ids of the file were too far apart to be kept."""

    renumbered: bool = False


def restore(store: Store, export: Export) -> Imported:
    """What the export holds, in one transaction.

    A store that never had a document gets the ids of the file, if these are not so far apart that no store can have
    given them; elsewhere documents are as if added anew, each in the place of the one of its path. Raises
    MismatchError where the store is of another model, InputError where the file has changed since, StoreError; then
    nothing has changed.
    """
    with store.writing() as db:
        if export.bound and export.with_vectors:
            _bind(db, export.bound, export.name)
        fresh = documents.fresh(db)
        imported = Imported(renumbered=fresh and export.sparse)
        successors: dict[str, str] = {}
        for document in export:
            if (record := document.record) and record.superseded_by:
                successors[record.id] = record.superseded_by
            if (id := _store(db, document, fresh and not export.sparse)) is not None:
                imported.vectors += _store_vectors(db, id, document.parts)
            imported.chunks += len(document.parts)
            if record:
                imported.records += 1
            else:
                imported.documents += 1
        _succeed(db, successors)
        return imported


def _store(db: sqlite3.Connection, document: Incoming, keep_ids: bool) -> int | None:
    """Its id; None for a record that the store has, and newer: its own stays, and what the file's said is added."""
    if (line := document.record) is None:
        return _put(db, document, keep_ids)
    record, before = line.record(), records.find(db, line.id)
    id = None if before and before.updated_at > record.updated_at else _put(db, document, keep_ids)
    if id is not None:
        successor = before.superseded_by if before else None  # what the file says comes when all are there
        records.attach(db, replace(record, superseded_by=successor), id)
    _say(db, line)
    return id


def _put(db: sqlite3.Connection, document: Incoming, keep_ids: bool) -> int:
    if keep_ids:
        numbered = [(part.id, part.passage) for part in document.parts]
        documents.restore(db, document.id, document.row, document.added_at, numbered)
        return document.id
    return documents.replace(db, document.row, [part.passage for part in document.parts]).document_id


def _say(db: sqlite3.Connection, line: Record) -> None:
    """What was asserted and told of a record, but for what the store has already; ends that the file knows are kept."""
    open_ends = {_fact(each): each for each in assertions.of(db, line.id)}
    for assertion in line.said():
        here = open_ends.get(_fact(assertion))
        if here is None:
            assertions.restore(db, line.id, assertion)
        elif here.valid_to is None and assertion.valid_to is not None:
            assertions.end(db, here.id, assertion.valid_to)
    told = feedback.of(db, line.id)
    for each in line.told():
        if each not in told:
            feedback.put(db, line.id, each)


def _fact(assertion: Assertion) -> tuple[str, int, int]:
    return assertion.content, assertion.valid_from, assertion.recorded_at


def _succeed(db: sqlite3.Connection, successors: Mapping[str, str]) -> None:
    """Who superseded whom, where both are here."""
    for record_id, successor in successors.items():
        db.execute(
            "UPDATE records SET superseded_by = ?1 WHERE id = ?2 AND EXISTS (SELECT 1 FROM records WHERE id = ?1)",
            (successor, record_id),
        )


def _store_vectors(db: sqlite3.Connection, document_id: int, parts: Sequence[Part]) -> int:
    """Of chunks that have none; one that is there was made here, or came with an earlier file."""
    rows = db.execute(
        """SELECT c.id, v.chunk_id IS NULL FROM chunks c LEFT JOIN chunks_vec v ON v.chunk_id = c.id
        WHERE c.document_id = ? ORDER BY c.seq""",
        (document_id,),
    ).fetchall()
    by_fingerprint: dict[str, list[tuple[int, bytes]]] = {}
    for (id, lacks), part in zip(rows, parts, strict=True):
        if lacks and part.vector is not None:
            by_fingerprint.setdefault(part.fingerprint, []).append((id, part.vector))
    for fingerprint, found in by_fingerprint.items():
        matrix = np.frombuffer(b"".join(vector for _, vector in found), "<f4").reshape(len(found), -1)
        vectors.insert(db, [id for id, _ in found], fingerprint, matrix)
    return sum(map(len, by_fingerprint.values()))


def _bind(db: sqlite3.Connection, bound: Bound, name: str) -> None:
    """Raises MismatchError where the store is of another model."""
    here, named = Bound.read(db), config.get(db, "model_name")
    if here is None and (named is None or same(named, bound.model_name)):
        binding.bind(db, bound)
    elif here is None or (here.digest, here.dims) != (bound.digest, bound.dims):
        dims = f" ({here.dims} dim)" if here else ""
        raise MismatchError(
            f"Model mismatch: DB uses '{named}'{dims} but {name} holds vectors of '{bound.model_name}' "
            f"({bound.dims} dim). Import it with --no-vectors and run bankml reindex, or into a knowledge base of its "
            "own (--db)."
        )
