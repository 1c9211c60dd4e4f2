"""Records written: each in one transaction with its assertion, its passages, their words and what it supersedes.

Its vectors come afterwards, where the model is on this machine; a record without them is found by its words.
"""

import os
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bankml.embedders import Embedder
from bankml.errors import InputError
from bankml.library.model import binding
from bankml.library.model.configuration import Configuration
from bankml.memory import draft as drafts
from bankml.memory import instant
from bankml.memory.cited import again, cited, unread
from bankml.memory.draft import Draft
from bankml.memory.embedding import FAILURES, embed_record, reason
from bankml.memory.given import share, shown
from bankml.memory.passages import Cut, cut
from bankml.memory.verdicts import feedback, found
from bankml.settings import Settings
from bankml.store import Assertion, Bound, Cited, Record, Store, assertions, records, vectors
from bankml.store.record import TYPE, new_id

__all__ = ["Written", "feedback", "remember", "revise"]

Choose = Callable[[], Embedder]
Clock = Callable[[], int]
"""Microseconds since 1970, UTC; it may go backwards."""

DISABLED = "BANKML_DISABLE_WRITE_EMBEDDING is set: `bankml reindex --missing` embeds it"


@dataclass(frozen=True, slots=True)
class Written:
    """`existing`: nothing was written, the very same was there. `superseded`: ids that this took the place of.

    `passages`: of the record; `embedded`: of these, those that have got their vector now; `why` the others have none.
    `clipped`: tokens that the model will not read. `unread`: cited files that could not be read, or are none.
    """

    id: str
    existing: bool = False
    passages: int = 0
    embedded: int = 0
    superseded: tuple[str, ...] = ()
    why: str = ""
    clipped: int = 0
    unread: tuple[bytes, ...] = ()

    def object(self) -> dict[str, Any]:
        """For JSON: `status` says why passages have no vector."""
        return {
            "id": self.id,
            "existing": self.existing,
            "superseded": list(self.superseded),
            "passages": self.passages,
            "embedded": self.embedded,
            "clipped": self.clipped,
            "unread": [os.fsdecode(path) for path in self.unread],
            "status": self.why,
        }


def remember(
    store: Store, settings: Settings, draft: Draft, choose: Choose | None = None, clock: Clock = instant.now
) -> Written:
    """A new record; where an active one says the very same, that one.

    `choose`: the embedder of the store's model, which a server has in memory; None: `binding.embedder`. Raises
    InputError for a superseded record that is not there or not active or that a session may not supersede, and for a
    `valid_from` to come; StoreError, BusyError: then nothing was written.
    """
    embedder, why = _embedder(store, settings, choose)
    made = cut(draft.title, draft.text, embedder, Configuration.read(store.path))
    now = clock()
    begins = drafts.begins(draft.valid_from, now)
    record = _record(draft, cited(draft.root, draft.paths), now)
    with store.writing() as db:
        if same := _same(db, record, draft.supersedes):
            record = same
        else:
            records.put(db, record, made.passages, made.recipe)
            assertion = Assertion(record.content, record.confidence, begins, None, now, draft.provenance)
            assertions.put(db, record.id, assertion)
        superseded = _supersede(db, record.id, draft, begins, now)
    return _written(store, record, made, embedder, why, superseded, existing=same is not None)


def revise(
    store: Store,
    settings: Settings,
    record_id: str,
    content: Any = None,
    confidence: Any = None,
    paths: Sequence[str | bytes] | None = None,
    valid_from: int | None = None,
    provenance: Mapping[str, Any] | None = None,
    choose: Choose | None = None,
    clock: Clock = instant.now,
) -> Written:
    """A new assertion of the same record: from now on, or from `valid_from`, it says this; what it said before stays.

    What is None is as before. The cited files are read anew and the record is current again; where nothing is another
    by that, it has said so already. Raises InputError for a record that is not there, not active, or another
    meanwhile, and for a `valid_from` to come; StoreError, BusyError: then nothing was written.
    """
    record_id = drafts.record_id(record_id)
    with store.reading() as db:
        before = _active(db, record_id)
    files = [file.path for file in before.cited] if paths is None else drafts.paths_of(before.root, list(paths))
    after = replace(
        before,
        content=before.content if content is None else drafts.body(content),
        confidence=before.confidence if confidence is None else share("the confidence", confidence),
        cited=again(before.root, before.cited, files),
        freshness="current",
    )
    if valid_from is None and after == before:
        return _written(store, before, Cut((), ""), None, "", existing=True)
    valid_from = None if valid_from is None else drafts.moment(valid_from)
    origin = drafts.origin(provenance or {})
    embedder, why = _embedder(store, settings, choose)
    made = cut(after.title, after.text, embedder, Configuration.read(store.path))
    with store.writing() as db:
        if _revised(_active(db, record_id)) != _revised(before):
            raise InputError(f"{record_id} was revised by another meanwhile: read it again, then revise it")
        now = assertions.next_moment(db, record_id, clock())
        after = replace(after, updated_at=max(now, before.updated_at))
        records.put(db, after, made.passages, made.recipe)
        begins = drafts.begins(valid_from, now)
        assertions.put(db, record_id, Assertion(after.content, after.confidence, begins, None, now, origin))
    return _written(store, after, made, embedder, why)


def _record(draft: Draft, files: tuple[Cited, ...], now: int) -> Record:
    return Record(
        id=new_id(),
        title=draft.title,
        content=draft.content,
        created_at=now,
        updated_at=now,
        reasoning=draft.reasoning,
        category=draft.category,
        tags=draft.tags,
        confidence=draft.confidence,
        namespace=draft.namespace,
        session=draft.session,
        root=draft.root,
        cited=files,
        provenance=draft.provenance,
    )


def _same(db: sqlite3.Connection, record: Record, but: Sequence[str]) -> Record | None:
    """The active record that says the very same of the same files, whoever wrote it and when."""
    rows = db.execute(
        """SELECT r.id FROM documents d CROSS JOIN records r ON r.document_id = d.id
        WHERE d.sha256 = ? AND d.type = ? AND r.status = 'active' ORDER BY r.created_at, r.id""",
        (records.document(record, "").sha256, TYPE),
    ).fetchall()
    for each in records.several(db, [row[0] for row in rows]):
        if each.id not in but and _said(each) == _said(record):
            return each
    return None


def _said(record: Record) -> tuple[Any, ...]:
    paths = tuple(file.path for file in record.cited)
    of_text = record.title, record.content, record.reasoning, record.tags, record.confidence
    return *of_text, record.category, record.namespace, record.session, record.root, paths


def _revised(record: Record) -> tuple[Any, ...]:
    """What a revision may change."""
    return record.content, record.confidence, [file.path for file in record.cited]


def _active(db: sqlite3.Connection, record_id: str) -> Record:
    record = found(db, record_id)
    if record.status == "superseded":
        raise InputError(
            f"{record_id} is superseded{_by(record)}: name the one that took its place, or write a new one"
        )
    if record.status == "archived":
        raise InputError(f"{record_id} is archived: write a new record in its place")
    return record


def _by(record: Record) -> str:
    return f" by {record.superseded_by}" if record.superseded_by else ""


def _supersede(db: sqlite3.Connection, by: str, draft: Draft, begins: int, now: int) -> tuple[str, ...]:
    """Marks what the draft takes the place of, as valid up to where that begins; what `by` superseded before stays."""
    done = []
    for record_id in draft.supersedes:
        if found(db, record_id).superseded_by == by:
            continue
        _check_session(_active(db, record_id), draft.session)
        at = assertions.next_moment(db, record_id, now)
        records.mark(db, record_id, at, status="superseded", superseded_by=by)
        assertions.ended(db, record_id, at if draft.valid_from is None else begins)
        done.append(record_id)
    return tuple(done)


def _check_session(record: Record, session: str) -> None:
    """What a session alone sees hides nothing from others."""
    if session and record.session != session:
        whose = "of another session" if record.session else f"of the namespace {record.namespace}"
        raise InputError(
            f"{record.id} is {whose}, and a record of the session {shown(session)} takes the place of that session's "
            "alone: write it for the project"
        )


def _embedder(store: Store, settings: Settings, choose: Choose | None) -> tuple[Embedder | None, str]:
    """The embedder of the store's model; else None, and why."""
    if settings.disable_write_embedding:
        return None, DISABLED
    try:
        embedder = choose() if choose else binding.embedder(store, settings)
        why = str(embedder.status()["why"])
        return (None, why) if why else (embedder, "")
    except FAILURES as error:
        return None, reason(error)


def _written(
    store: Store,
    record: Record,
    made: Cut,
    embedder: Embedder | None,
    why: str,
    superseded: tuple[str, ...] = (),
    existing: bool = False,
) -> Written:
    """Embeds the record where that can be, and counts."""
    if embedder:
        why = embed_record(store, embedder, record.id)
    with store.reading() as db:
        bound, chunks = Bound.read(db), records.chunk_ids(db, record.id)
        embedded = vectors.count(db, chunks, bound.fingerprint) if bound else 0
    return Written(
        id=record.id,
        existing=existing,
        passages=len(chunks),
        embedded=embedded,
        superseded=superseded,
        why=why if embedded < len(chunks) else "",
        clipped=made.clipped,
        unread=tuple(file.path for file in record.cited if unread(file)),
    )
