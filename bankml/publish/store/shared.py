"""Records of published stores that answer a query: `bankml query --dsn`."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import psycopg

from bankml.errors import UnavailableError
from bankml.library.search.sentence import AS_ASKED
from bankml.memory.recall.asked import Asked
from bankml.memory.recall.judged import Calibration
from bankml.memory.recall.page import Page
from bankml.memory.recall.recalled import Recalled
from bankml.memory.recall.recaller import Recaller
from bankml.publish.connection import Connection, connect
from bankml.publish.store import schema
from bankml.publish.store.listed import Listed, chosen, listed
from bankml.publish.store.page import page
from bankml.publish.store.vectors import NO_PGVECTOR, Vectors, chooser
from bankml.publish.store.vectors import Asked as Question
from bankml.settings import Settings

HOLDERS = (
    "SELECT id, array_agg(store ORDER BY store) FROM bankml_records WHERE store = ANY(%s) AND id = ANY(%s) GROUP BY id"
)


class Shared(Recaller):
    """The records of stores that a database has, in one corpus, over one connection: for one thread at a time.

    Candidates are ranked in SQL, then by what ranks those of a store. Freshness is that of when a store was published.
    """

    def __init__(
        self,
        connection: Connection,
        names: Sequence[str],
        vectors: Vectors,
        calibrated: Callable[[str], Calibration | None],
    ) -> None:
        """`names`: of the stores; none: all. As `shared`."""
        self._connection, self._names, self._vectors = connection, names, vectors
        self._calibrated, self._seen = calibrated, lambda record: record.freshness

    def recall(self, query: str, *arguments: Any, **options: Any) -> Recalled:
        """As `Recaller.recall`; each result names its store as its repository."""
        found = super().recall(query, *arguments, **options)
        names = self.holders([one.record.id for one in found.results])
        results = [replace(one, repository=names.get(one.record.id, "")) for one in found.results]
        return replace(found, results=results)

    def _page(self, asked: Asked, wait: float | None) -> Page:
        with self._connection.transaction():
            found = schema.look(self._connection)
            self._stores = chosen(self._connection, listed(self._connection, found.version), self._names)
            question = self._question(asked, found.column)
            if asked.mode == "meaning" and question.vector is None:
                raise UnavailableError(question.why)
            return page(self._connection, [store.number for store in self._stores], asked, question)

    def _question(self, asked: Asked, column: bool) -> Question:
        if asked.mode == "words":
            return Question(why=AS_ASKED)
        return self._vectors.of(asked.query, self._stores) if column else Question(why=NO_PGVECTOR)

    def holders(self, ids: Sequence[str]) -> dict[str, str]:
        """Of those of these records that are there: the names of the stores that have each. Ask something first."""
        if not ids:
            return {}
        names = {store.number: store.name for store in self._stores}
        rows = self._connection.execute(HOLDERS, (list(names), list(ids))).fetchall()
        return {id: ", ".join(names[number] for number in numbers) for id, numbers in rows}


@contextmanager
def shared(
    dsn: str | None = None, names: Sequence[str] = (), settings: Settings | None = None, model: str | None = None
) -> Iterator[Shared]:
    """The published stores of these names, or all of them. A role that may read the tables suffices.

    `model`: what the published model is called here. Raises InputError and StoreError, one sentence each, also later.
    """
    from bankml.memory import calibration

    settings = settings or Settings.read()
    vectors = Vectors(chooser(settings, model))
    try:
        with connect(dsn, settings, read_only=True) as connection:
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ  # of all statements of a query
            yield Shared(connection, names, vectors, lambda digest: calibration.of(digest, settings))
    finally:
        vectors.close()


__all__ = ["Listed", "Shared", "shared"]
