"""How many of a store's own answers are among those of what was published of it: overlap@10.

Queries are titles and sentences of what is published of the store, the same in every run. They are sent to the
database: nothing that is private, or was left out, may be among them.
"""

import re
import sqlite3
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from hashlib import sha256
from itertools import islice
from statistics import fmean, median
from time import perf_counter
from typing import Any, Protocol

from bankml.library.model import binding
from bankml.library.search.searcher import Searcher
from bankml.memory.recall.recaller import Recaller
from bankml.publish.store.choice import Choice
from bankml.publish.store.shared import Shared, shared
from bankml.publish.store.writer import Progress
from bankml.settings import Settings
from bankml.store import Store
from bankml.store.record import Record

QUERIES, N = 50, 10
SENTENCE = re.compile(r"(?<=[.!?\u3002\uff01\uff1f])\s+|\n+")
SHORTEST, LONGEST = 12, 200  # characters of a query
DOCUMENTS = "SELECT document_id, heading, text FROM chunks ORDER BY key"
MOST = 1000  # passages that queries are drawn from


@dataclass(frozen=True)
class Overlap:
    """`mean` and `least` of all queries: the share of the store's own answers that the database gives too.

    Of the store's N best those count that were published. Milliseconds: medians, the query's embedding included.
    """

    queries: int
    n: int
    mean: float | None
    least: float | None
    local_ms: float | None
    published_ms: float | None

    def json(self) -> dict[str, Any]:
        """All of it."""
        return asdict(self)

    def __str__(self) -> str:
        if self.mean is None:
            return "not measured: nothing of that kind is published there"
        return (
            f"{self.mean:.3f} of {self.n} answers the same over {self.queries} queries, at least {self.least:.2f} "
            f"({self.local_ms:.1f} ms here, {self.published_ms:.1f} ms there)"
        )


class Answers(Protocol):
    """One kind of answers, of both sides."""

    def own(self, query: str) -> Sequence[Hashable]:
        """Of the store, best first."""

    def published(self, query: str) -> Sequence[Hashable]:
        """Of the database, by the same names."""

    def there(self, answers: Sequence[Hashable]) -> Collection[Hashable]:
        """Those of the store's answers that were published."""


def overlap(answers: Answers, queries: Sequence[str], progress: Progress | None = None) -> Overlap:
    """Of one kind of answers."""
    shares, here, there = list[float](), list[float](), list[float]()
    for done, query in enumerate(queries, 1):
        start = perf_counter()
        own = answers.own(query)
        middle = perf_counter()
        found = set(answers.published(query))
        end = perf_counter()
        if possible := set(answers.there(own)):
            shares.append(len(found & possible) / len(possible))
            here.append((middle - start) * 1e3)
            there.append((end - middle) * 1e3)
        if progress:
            progress(done, len(queries))
    if not shares:
        return Overlap(0, N, None, None, None, None)
    return Overlap(len(shares), N, fmean(shares), min(shares), median(here), median(there))


@dataclass(frozen=True)
class Records:
    """What `bankml query` answers, by id."""

    recaller: Recaller
    shared: Shared
    chosen: frozenset[str]  # the ids that are published: the database is not told of others

    def own(self, query: str) -> Sequence[Hashable]:
        return [one.record.id for one in self.recaller.recall(query, N).results]

    def published(self, query: str) -> Sequence[Hashable]:
        return [one.record.id for one in self.shared.recall(query, N).results]

    def there(self, answers: Sequence[Hashable]) -> Collection[Hashable]:
        return self.shared.holders([str(id) for id in answers if id in self.chosen])


@dataclass(frozen=True)
class Documents:
    """What `bankml search` answers, by passage."""

    searcher: Searcher
    shared: Shared

    def own(self, query: str) -> Sequence[Hashable]:
        return [hit.id for hit in self.searcher.search(query, N).results]

    def published(self, query: str) -> Sequence[Hashable]:
        return [hit.id for hit in self.shared.search(query, N).results]

    def there(self, answers: Sequence[Hashable]) -> Collection[Hashable]:
        return self.shared.passages([int(str(id)) for id in answers])


def overlaps(
    store: Store,
    choice: Choice,
    name: str,
    dsn: str | None = None,
    settings: Settings | None = None,
    model: str | None = None,
    count: int = QUERIES,
    progress: Progress | None = None,
    asked: Sequence[str] = (),
) -> dict[str, Overlap]:
    """Of the records and the documents of the store that is published as `name`, by `choice`.

    `asked`: queries in place of those of the store's own. Raises as `shared`, `Recaller.recall` and `Searcher.search`.
    """
    settings = settings or Settings.read()
    with store.reading() as db:
        chosen = {each.id: each for each in choice.of_records(db)}
        queries = asked or sample(of_records(chosen.values()), count)
        of_others = asked or sample(of_documents(db, choice), count)
    choose = partial(binding.embedder, store, settings, model)
    with Searcher(store, choose) as searcher, shared(dsn, [name], settings, model) as published:
        records = Records(Recaller(searcher), published, frozenset(chosen))
        return {
            "records": overlap(records, queries, progress),
            "documents": overlap(Documents(searcher, published), of_others, progress),
        }


def of_records(records: Iterable[Record]) -> Iterator[str]:
    """Titles and sentences of those that a query finds by itself."""
    for each in records:
        if each.status == "active" and each.namespace != "session":
            yield from (each.title, *_sentence(each.content))


def of_documents(db: sqlite3.Connection, choice: Choice) -> Iterator[str]:
    """Headings and sentences of passages of documents that are published."""
    documents = choice.of_documents(db)
    passages = (row for row in db.execute(DOCUMENTS) if row[0] in documents)
    for _, heading, text in islice(passages, MOST):
        yield from (heading, *_sentence(text))


def sample(texts: Iterable[str], count: int = QUERIES) -> list[str]:
    """As many queries at most, drawn by the digest of each."""
    fitting = dict.fromkeys(text[:LONGEST] for text in texts if len(text) >= SHORTEST)
    return sorted(fitting, key=lambda text: sha256(text.encode("utf-8", "replace")).hexdigest())[:count]


def _sentence(content: str) -> Sequence[str]:
    """One from its middle: what a title does not say."""
    sentences = [part.strip() for part in SENTENCE.split(content[:10_000]) if len(part) >= SHORTEST]
    return sentences[len(sentences) // 2 :][:1]
