"""How many of a store's own answers are among those of what was published of it: overlap@10.

Queries are titles and sentences of what is in the store, the same in every run.
"""

import re
from collections.abc import Collection, Hashable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from hashlib import sha256
from statistics import fmean, median
from time import perf_counter
from typing import Any, Protocol

from bankml.library.model import binding
from bankml.library.search.searcher import Searcher
from bankml.memory.recall.recaller import Recaller
from bankml.publish.store.shared import Shared, shared
from bankml.publish.store.writer import Progress
from bankml.settings import Settings
from bankml.store import Store

QUERIES, N = 50, 10
SENTENCE = re.compile(r"(?<=[.!?\u3002\uff01\uff1f])\s+|\n+")
SHORTEST, LONGEST = 12, 200  # characters of a query
RECORDS = "SELECT title, content FROM records WHERE status = 'active' AND namespace <> 'session' ORDER BY id"
DOCUMENTS = """SELECT heading, text FROM chunks c JOIN documents d ON d.id = c.document_id WHERE d.type <> 'record'
ORDER BY key LIMIT 1000"""


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


class Asked(Protocol):
    """One kind of answers, of both sides."""

    def own(self, query: str) -> Sequence[Hashable]:
        """Of the store, best first."""

    def published(self, query: str) -> Sequence[Hashable]:
        """Of the database, by the same names."""

    def there(self, answers: Sequence[Hashable]) -> Collection[Hashable]:
        """Those of the store's answers that were published."""


def overlap(asked: Asked, queries: Sequence[str], progress: Progress | None = None) -> Overlap:
    """Of one kind of answers."""
    shares, here, there = list[float](), list[float](), list[float]()
    for done, query in enumerate(queries, 1):
        start = perf_counter()
        own = asked.own(query)
        middle = perf_counter()
        found = set(asked.published(query))
        end = perf_counter()
        if possible := set(asked.there(own)):
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

    def own(self, query: str) -> Sequence[Hashable]:
        return [one.record.id for one in self.recaller.recall(query, N).results]

    def published(self, query: str) -> Sequence[Hashable]:
        return [one.record.id for one in self.shared.recall(query, N).results]

    def there(self, answers: Sequence[Hashable]) -> Collection[Hashable]:
        return self.shared.holders([str(id) for id in answers])


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
    name: str,
    dsn: str | None = None,
    settings: Settings | None = None,
    model: str | None = None,
    count: int = QUERIES,
    progress: Progress | None = None,
) -> dict[str, Overlap]:
    """Of the records and the documents of the store that is published as `name`.

    Raises as `shared`, `Recaller.recall` and `Searcher.search`.
    """
    settings = settings or Settings.read()
    choose = partial(binding.embedder, store, settings, model)
    with Searcher(store, choose) as searcher, shared(dsn, [name], settings, model) as published:
        return {
            "records": overlap(Records(Recaller(searcher), published), sample(store, RECORDS, count), progress),
            "documents": overlap(Documents(searcher, published), sample(store, DOCUMENTS, count), progress),
        }


def sample(store: Store, query: str = RECORDS, count: int = QUERIES) -> list[str]:
    """As many queries at most, drawn by the digest of each."""
    with store.reading() as db:
        rows = db.execute(query).fetchall()
    texts = dict.fromkeys(text for title, content in rows for text in (title, *_sentence(content)))
    fitting = [text[:LONGEST] for text in texts if len(text) >= SHORTEST]
    return sorted(fitting, key=lambda text: sha256(text.encode("utf-8", "replace")).hexdigest())[:count]


def _sentence(content: str) -> Sequence[str]:
    """One from its middle: what a title does not say."""
    sentences = [part.strip() for part in SENTENCE.split(content[:10_000]) if len(part) >= SHORTEST]
    return sentences[len(sentences) // 2 :][:1]
