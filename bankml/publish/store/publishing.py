"""Publishing a store from end to end: one transaction brings the database to the store's state, then the indexes."""

import sqlite3
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from bankml.publish.connection import Connection, connect, place
from bankml.publish.lock import locked
from bankml.publish.store import index, schema, stored, writer
from bankml.publish.store.choice import Choice
from bankml.publish.store.model import PublishedModel, published_model
from bankml.publish.store.publication import Publication
from bankml.publish.store.rows import PassageRow, passage_rows, record_rows
from bankml.publish.store.storable import storable
from bankml.publish.store.stored import Stored
from bankml.publish.store.writer import Changes, Progress
from bankml.settings import Settings
from bankml.store import Bound, Store, config, record
from bankml.store.record import Record

NO_PGVECTOR = "the database has no pgvector; run CREATE EXTENSION vector in it, then publish again"
UNBOUND = "the store has no vectors; `bankml reindex` makes them, then publish again"
LACKING = "the others have none in the store; `bankml reindex` makes them, then publish again"
THERE = "SELECT count(*) FROM bankml_passages"


def publish(
    store: Store,
    choice: Choice,
    dsn: str | None = None,
    name: str | None = None,
    allowed: Collection[str] = (),
    settings: Settings | None = None,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> Publication:
    """Brings what the database has of this store to what the store has now, all of it or nothing.

    `name`: for people, else the one that is there, else the file's. What was published before and is not chosen now is
    removed. `dry_run` asks the database and changes nothing. `progress(done, to do)` is told of passages. Raises
    InputError for a name that another store has and a DSN that cannot be read, LicenceError for a model whose licence
    is not known to be open, unless `allowed` names it, and StoreError; nothing has changed then.
    """
    settings = settings or Settings.read()
    with connect(dsn, settings, read_only=dry_run) as connection:
        started = time.monotonic()
        with connection.transaction() if dry_run else locked(connection):
            found = schema.look(connection)
            with store.reading() as db:
                source = Source.of(store, db, choice, settings, allowed)
                if dry_run:
                    result = _foreseen(connection, found, source, name)
                else:
                    result = _done(connection, schema.prepare(connection, found), source, name, progress)
        result.seconds = time.monotonic() - started
        if not dry_run:
            result.index, result.index_seconds = index.build(connection)
    return result


@dataclass(frozen=True)
class Source:
    """One state of a store, and what of it is published."""

    db: sqlite3.Connection
    bound: Bound | None
    model: PublishedModel | None
    choice: Choice
    records: list[Record]
    documents: set[int]
    left_out: dict[str, int]
    stored: Stored

    @classmethod
    def of(
        cls, store: Store, db: sqlite3.Connection, choice: Choice, settings: Settings, allowed: Collection[str]
    ) -> "Source":
        """Raises LicenceError as `publish`."""
        bound = Bound.read(db)
        model = published_model(store, bound, settings, allowed)
        records, documents = choice.of_records(db), choice.of_documents(db)
        left_out = {
            "records": db.execute("SELECT count(*) FROM records").fetchone()[0] - len(records),
            "documents": db.execute("SELECT count(*) FROM documents WHERE type != ?", (record.TYPE,)).fetchone()[0]
            - len(documents),
        }
        row = Stored(config.store_id(db), storable(store.path.stem), choice.private, choice.documents, model)
        return cls(db, bound, model, choice, records, documents, left_out, row)

    def passages(self, only: Collection[int] | None = None) -> Iterator[PassageRow]:
        """All that are published, or those of them with these ids."""
        return passage_rows(self.db, {each.id for each in self.records}, self.documents, self.bound, only)

    def states(self, column: bool) -> dict[int, writer.State]:
        """Of each passage by id. `column`: whether vectors can be stored."""
        return {row.id: (row.digest, column and row.vector is not None) for row in self.passages()}


def _done(
    connection: Connection, found: schema.Schema, source: Source, name: str | None, progress: Progress | None
) -> Publication:
    named = stored.name(connection, source.stored, name)
    number = stored.save(connection, source.stored, named)
    result = _result(connection, found, source, named)
    changes = writer.changes(connection, number, source.states(found.column))
    if len(changes.new) > _there(connection) - len(changes.gone):
        index.drop(connection)
    writer.remove(connection, number, changes.gone)
    writer.write_records(connection, number, record_rows(source.db, source.records, source.choice.private))
    fingerprint = source.bound.fingerprint if source.bound and found.column else None
    rows = source.passages(set(changes.new))
    counts = writer.copy(connection, number, rows, len(changes.new), fingerprint, progress)
    writer.count_terms(connection, number, counts)
    result.records, result.passages, result.embedded = stored.count(connection, number)
    return _told(result, changes)


def _foreseen(connection: Connection, found: schema.Schema, source: Source, name: str | None) -> Publication:
    states = source.states(bool(found.vector))
    named, changes = name or source.stored.file, Changes(sorted(states), [], 0)
    if found.version:
        named = stored.name(connection, source.stored, name)
        row = connection.execute(
            "SELECT number FROM bankml_stores WHERE store_id = %s", (source.stored.store_id,)
        ).fetchone()
        changes = writer.changes(connection, row[0], states) if row else changes
    result = _result(connection, found, source, named)
    result.dry_run, result.records, result.passages = True, len(source.records), len(states)
    result.embedded = sum(embedded for _, embedded in states.values())
    return _told(result, changes)


def _result(connection: Connection, found: schema.Schema, source: Source, named: str) -> Publication:
    choice, model = source.choice, source.model
    result = Publication(named, place(connection), choice.private, choice.documents, left_out=source.left_out)
    result.why = NO_PGVECTOR if not found.vector else UNBOUND if model is None else ""
    if model is not None:
        result.model, result.digest, result.dims = model.model, model.digest, model.dims
    return result


def _told(result: Publication, changes: Changes) -> Publication:
    result.written, result.removed = len(changes.new), len(changes.gone)
    if not result.why and result.embedded < result.passages:
        result.why = LACKING
    return result


def _there(connection: Connection) -> int:
    row = connection.execute(THERE).fetchone()
    return int(row[0]) if row else 0
