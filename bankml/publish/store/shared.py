"""What published stores answer: their records to `bankml query --dsn`, their documents to `bankml search --dsn`."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import psycopg

from bankml.errors import UnavailableError
from bankml.library.search.hit import Found
from bankml.library.search.searcher import Mode, check
from bankml.library.search.sentence import AS_ASKED
from bankml.memory.recall.answered import Source, answered
from bankml.memory.recall.asked import Asked
from bankml.memory.recall.judged import Calibration
from bankml.memory.recall.page import Page
from bankml.memory.recall.recalled import Recalled
from bankml.memory.recall.relevance import ALPHA, Fusion
from bankml.memory.recall.wanted import Wanted, one_of
from bankml.publish.connection import Connection, connect
from bankml.publish.store import arms, schema
from bankml.publish.store.listed import Listed, chosen, listed
from bankml.publish.store.page import page
from bankml.publish.store.passages import search
from bankml.publish.store.vectors import NO_PGVECTOR, Question, Vectors, chooser
from bankml.settings import Settings
from bankml.store.record import CATEGORIES

HOLDERS = (
    "SELECT id, array_agg(store ORDER BY store) FROM bankml_records WHERE store = ANY(%s) AND id = ANY(%s) GROUP BY id"
)
PASSAGES = "SELECT id FROM bankml_passages WHERE store = ANY(%s) AND id = ANY(%s)"


class Shared:
    """Stores that a database has, in one corpus, over one connection: for one thread at a time.

    Candidates are ranked in SQL, then by what ranks those of a store. Freshness is that of when a store was published.
    `names`: of the stores; none: all. As `shared`.
    """

    def __init__(
        self,
        connection: Connection,
        names: Sequence[str],
        vectors: Vectors,
        calibrated: Callable[[str], Calibration | None],
    ) -> None:
        self._connection, self._names, self._vectors, self._calibrated = connection, names, vectors, calibrated

    def recall(
        self,
        query: str,
        n: int = 10,
        mode: Mode = "fused",
        fusion: Fusion = "convex",
        *,
        prefer: Sequence[str] = (),
        root: bytes = b"",
        **narrowed: Any,
    ) -> Recalled:
        """As `Recaller.recall`; each result names its store as its repository. `narrowed`: as of `Wanted.of`."""
        preferred = one_of("category", prefer, CATEGORIES)
        asked = Asked.of(query, n, mode, fusion, ALPHA, Wanted.of(**narrowed), preferred, root)
        read = self._page(asked)
        measured = self._calibrated(read.digest) if read.digest else None
        found = answered(asked, [Source(read, lambda record: record.freshness, measured)])
        names = self.holders([one.record.id for one in found.results])
        results = [replace(one, repository=names.get(one.record.id, "")) for one in found.results]
        return replace(found, results=results)

    def search(self, query: str, n: int = 10, mode: Mode = "fused") -> Found:
        """Passages of published documents, as `Searcher.search` without filters."""
        check(query, n, mode)
        with self._connection.transaction():
            question = self._question(query, mode)
            return search(self._connection, self._stores, query, n, mode, question)

    def passages(self, ids: Sequence[int]) -> set[int]:
        """Of these passages of one store those that are there. Ask something first."""
        numbers = [store.number for store in self._stores]
        return {id for (id,) in self._connection.execute(PASSAGES, (numbers, list(ids)))}

    def _page(self, asked: Asked) -> Page:
        with self._connection.transaction():
            question = self._question(asked.query, asked.mode)
            return page(self._connection, [store.number for store in self._stores], asked, question)

    def _question(self, query: str, mode: Mode) -> Question:
        """And which stores are asked, as they are in this transaction. Raises UnavailableError as `recall`."""
        found = schema.look(self._connection)
        arms.settle(self._connection, found)
        self._stores = chosen(self._connection, listed(self._connection, found.version), self._names)
        if mode == "words":
            return Question(why=AS_ASKED)
        question = self._vectors.of(query, self._stores) if found.column else Question(why=NO_PGVECTOR)
        if mode == "meaning" and question.vector is None:
            raise UnavailableError(question.why)
        return question

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
