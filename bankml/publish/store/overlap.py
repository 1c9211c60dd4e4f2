"""How many of a store's own answers are among those of what was published of it: overlap@10.

Queries are titles of records and first sentences of what they say, the same in every run.
"""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from hashlib import sha256
from statistics import fmean, median
from time import perf_counter
from typing import Any

from bankml.library.model import binding
from bankml.library.search.searcher import Searcher
from bankml.memory.recall.recaller import Recaller
from bankml.publish.store.shared import shared
from bankml.publish.store.writer import Progress
from bankml.settings import Settings
from bankml.store import Store

QUERIES, N = 50, 10
SENTENCE = re.compile(r"(?<=[.!?\u3002\uff01\uff1f])\s+|\n+")
SHORTEST, LONGEST = 12, 200  # characters of a query
SAMPLE = "SELECT title, content FROM records WHERE status = 'active' AND namespace <> 'session' ORDER BY id"


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
            return "not measured: no record of this store is published there"
        return (
            f"{self.mean:.3f} of {self.n} answers the same over {self.queries} queries, at least {self.least:.2f} "
            f"({self.local_ms:.1f} ms here, {self.published_ms:.1f} ms there)"
        )


def overlap(
    store: Store,
    name: str,
    dsn: str | None = None,
    settings: Settings | None = None,
    model: str | None = None,
    count: int = QUERIES,
    progress: Progress | None = None,
) -> Overlap:
    """Of the records of the store that is published as `name`. Raises as `shared` and `Recaller.recall`."""
    settings = settings or Settings.read()
    asked, shares, here, there = sample(store, count), list[float](), list[float](), list[float]()
    choose = partial(binding.embedder, store, settings, model)
    with Searcher(store, choose) as searcher, shared(dsn, [name], settings, model) as published:
        local = Recaller(searcher)
        for done, query in enumerate(asked, 1):
            start = perf_counter()
            own = [one.record.id for one in local.recall(query, N).results]
            middle = perf_counter()
            found = {one.record.id for one in published.recall(query, N).results}
            end = perf_counter()
            if possible := published.holders(own):
                shares.append(len(found & possible.keys()) / len(possible))
                here.append((middle - start) * 1e3)
                there.append((end - middle) * 1e3)
            if progress:
                progress(done, len(asked))
    if not shares:
        return Overlap(0, N, None, None, None, None)
    return Overlap(len(shares), N, fmean(shares), min(shares), median(here), median(there))


def sample(store: Store, count: int = QUERIES) -> list[str]:
    """As many queries at most, drawn by the digest of each."""
    with store.reading() as db:
        rows = db.execute(SAMPLE).fetchall()
    texts = dict.fromkeys(text for title, content in rows for text in (title, *_sentence(content)))
    fitting = [text[:LONGEST] for text in texts if len(text) >= SHORTEST]
    return sorted(fitting, key=lambda text: sha256(text.encode("utf-8", "replace")).hexdigest())[:count]


def _sentence(content: str) -> Sequence[str]:
    """One from its middle: what a title does not say."""
    sentences = [part.strip() for part in SENTENCE.split(content[:10_000]) if len(part) >= SHORTEST]
    return sentences[len(sentences) // 2 :][:1]
