"""Publishing from end to end: the lines are checked, one transaction replaces them, then the index is seen to."""

import os
import time
from dataclasses import dataclass

import psycopg

from bankml.publish import index, manifest, schema, writer
from bankml.publish.agent import Agent
from bankml.publish.connection import Connection, connect, place
from bankml.publish.count import Count, count
from bankml.publish.lines import Lines
from bankml.publish.lock import locked
from bankml.publish.published import Published
from bankml.publish.refusal import first_line
from bankml.publish.schema import Schema
from bankml.publish.vectors import Progress, Vectors
from bankml.settings import Settings

NO_PGVECTOR = (
    "the database has no pgvector; run CREATE EXTENSION vector in it, then publish again"  # the column is added then
)


@dataclass
class Wanted:
    """What is to be published."""

    agent: Agent
    history: str | os.PathLike[str]
    private: bool
    vectors: Vectors | None  # None: for the reason `why`
    why: str = ""

    def lines(self) -> Lines:
        """Of the history, which can be opened."""
        lines = Lines(self.history)
        lines.opened().close()
        return lines

    def count(self, lines: Lines) -> Count:
        """Reads the history, so that a line that is none is told before the database is asked for anything."""
        return count(lines, self.vectors) if self.private else Count()

    def fit(self, found: Schema) -> None:
        """To what the database has."""
        if self.vectors is not None and found.vector is None:
            self.vectors, self.why = None, NO_PGVECTOR
        schema.fit(found, self.vectors)

    def published(self, database: str) -> Published:
        """Before anything is counted."""
        found = Published(self.agent.slug, database, self.private, why=self.why)
        if self.vectors is not None:
            found.model, found.digest, found.dims = self.vectors.model, self.vectors.digest, self.vectors.dims
        return found


def publish(wanted: Wanted, dsn: str | None, settings: Settings | None, progress: Progress | None) -> Published:
    """See `bankml.publish.publish`."""
    lines = wanted.lines()
    expected = wanted.count(lines)
    if wanted.vectors is not None and expected.embedded < expected.exchanges:
        _complete(wanted, dsn, settings, progress)
        expected = wanted.count(lines)
    with connect(dsn, settings) as connection:
        started = time.monotonic()
        with locked(connection):
            found = schema.look(connection)
            wanted.fit(found)
            done = _replace(connection, wanted, found, lines, expected)
        result = wanted.published(place(connection))
        result.lines, result.exchanges, result.embedded = done.lines, done.exchanges, done.embedded
        result.seconds = time.monotonic() - started
        _see_to_index(connection, result)
    return result


def _complete(wanted: Wanted, dsn: str | None, settings: Settings | None, progress: Progress | None) -> None:
    """Embeds what is missing, which may take hours, once the database has said that it would take the vectors."""
    with connect(dsn, settings, read_only=True) as connection, connection.transaction():
        wanted.fit(schema.look(connection))
    if wanted.vectors is not None:
        wanted.why = wanted.vectors.complete(progress)


def _replace(connection: Connection, wanted: Wanted, found: Schema, lines: Lines, expected: Count) -> Count:
    slug, vectors = wanted.agent.slug, wanted.vectors
    schema.prepare(connection, found, vectors)
    writer.upsert(connection, wanted.agent, wanted.private)
    writer.remove(connection, slug)
    if not wanted.private:
        if found.memory:
            writer.remove(connection, slug, "bankml_memory")
        writer.write_manifest(connection, slug, manifest.public())
        return Count()
    if vectors and index.renewed(found, expected.embedded, writer.vectors_of_others(connection, slug)):
        index.drop(connection)
    done = writer.copy(connection, slug, lines, vectors)
    writer.write_manifest(connection, slug, manifest.whole(lines, done, vectors))
    return done


def _see_to_index(connection: Connection, result: Published) -> None:
    """The lines are there whatever comes of it."""
    started = time.monotonic()
    try:
        result.index, built = index.build(connection)
    except psycopg.Error as error:
        result.index, built = f"none: it could not be built ({first_line(error)}); publish again to try anew", False
    if built:
        result.index_seconds = time.monotonic() - started


def foresee(wanted: Wanted, dsn: str | None, settings: Settings | None) -> Published:
    """What `publish` would do now; it is asked in a transaction that can change nothing."""
    expected = wanted.count(wanted.lines())
    with connect(dsn, settings, read_only=True) as connection, connection.transaction():
        found = schema.look(connection)
        wanted.fit(found)
        result = wanted.published(place(connection))
        there = writer.there(connection, found, wanted.agent.slug)
    result.dry_run, result.lines, result.exchanges = True, expected.lines, expected.exchanges
    result.embedded = expected.embedded if wanted.vectors is not None else 0
    result.would = _would(wanted, found, there, expected)
    return result


def _would(wanted: Wanted, found: Schema, there: int, expected: Count) -> list[str]:
    steps = [] if found.tables else ["make the tables bankml_agents and bankml_exchanges"]
    if wanted.vectors is not None and schema.adds_column(found):
        steps.append(f"add the column embedding vector({wanted.vectors.dims})")
    if wanted.vectors is not None and expected.embedded < expected.exchanges:
        steps.append(f"embed {expected.exchanges - expected.embedded} exchanges first, if that can be done here")
    if there:
        steps.append(f"remove {there} lines of {wanted.agent.slug}")
    steps.append(f"write {expected.lines} lines of {wanted.agent.slug}" if wanted.private else "write no line")
    return steps
