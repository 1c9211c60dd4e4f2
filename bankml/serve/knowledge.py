"""A knowledge base as the server searches it and adds to it: what /kb/ takes and answers, without HTTP."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import orjson

from bankml.documents import Source
from bankml.embedders.embedder import Cancelled, Embedder
from bankml.errors import InputError, UnavailableError
from bankml.lexical import spans
from bankml.library.model.configuration import Configuration
from bankml.library.search.hit import Hit
from bankml.library.search.searcher import Searcher
from bankml.library.search.snippet import best
from bankml.library.search.source import source
from bankml.serve.excerpts import excerpt
from bankml.serve.kb import Document
from bankml.serve.limits import MOST_FILTERS, MOST_QUERY, MOST_RESULTS, MOST_WAIT
from bankml.serve.session import Session
from bankml.serve.window import window
from bankml.serve.workers import Workers
from bankml.settings import Settings
from bankml.store import Store, record
from bankml.store.followed import Followed
from bankml.utf8 import whole

MOST_TEXT = 4000  # characters of a passage that are sent; one has some 1,000, but a word may be of any length
LOOKED_AT = 2**13  # characters of it in which what matches is looked for
SEARCHES = 2  # at once; what is overtaken by the next letter is not begun


@dataclass(frozen=True)
class Opened:
    """A store that is open."""

    store: Store
    searcher: Searcher

    def close(self) -> None:
        """Ends what runs."""
        self.searcher.close()
        self.store.close()


class Knowledge:
    """The store at `path`, opened anew when another file takes its place; safe to use from many threads.

    `choose` gives the embedder of a store. `session`: the browser that may ask where the server wants a key. All raise
    StoreError where there is no store.
    """

    def __init__(self, path: Path, choose: Callable[[Store], Embedder], session: Session | None = None) -> None:
        self.path = path
        self.session = session or Session()
        self.searches, self.additions = Workers(SEARCHES), Workers(1)
        self._choose = choose
        self.followed = Followed(path, self._open)
        self.opened()

    def opened(self) -> Opened:
        """The store as it lies there now."""
        return self.followed.opened()

    def _open(self, path: Path) -> Opened:
        store = Store.open(path)
        return Opened(store, Searcher(store, lambda: self._choose(store)))

    def search(self, query: str, n: int, wait: float | None, shown: str, **how: Any) -> dict[str, Any]:
        """The answer of /kb/search; without results where it is the one of the version that is `shown`.

        `how`: as in Searcher.search. Without a query nothing is found. Raises as it does.
        """
        _check(query)
        _check_how(n, wait, how)
        found, types = self.followed.of_now(
            lambda opened: (opened.searcher.search(query, n=n, wait=wait, **how), _types(opened.store))
        )
        answer = whole(
            {
                "results": [_row(hit, found.marks) for hit in found.results],
                "status": found.status,
                "types": types,
            }
        )
        version = blake2b(orjson.dumps(answer), digest_size=16).hexdigest()
        known = {"version": version, "pending": found.pending}
        return known if shown == version else answer | known

    def source(self, id: int, query: str) -> dict[str, Any] | None:
        """The answer of /kb/source; None where there is no passage of this id. Raises InputError."""
        _check(query)
        found, terms = self.followed.of_now(lambda opened: (source(opened.store, id), opened.searcher.marks(query)))
        if found is None:
            return None
        shown = window(found.text, found.start, found.end, terms)
        return {
            "id": id,
            "path": whole(os.fsdecode(found.path)),
            **{name: getattr(found, name) for name in ("type", "title", "heading", "line", "page", "note")},
            "text": shown.text,
            "passage": shown.passage,
            "marks": shown.marks,
            "first_line": None if found.first_line is None else found.first_line + shown.skipped,
            "cut": shown.cut or found.partial,
        }

    def add(self, documents: Sequence[Document], cancelled: Cancelled) -> dict[str, Any]:
        """The answer of /kb/add, that of `bankml add`. Nothing is added where a name will not do.

        What was stored when the client left, or the store failed, stays; the same request goes on from there. Raises
        InputError, MismatchError, CancelledError, BusyError where others write for a minute.
        """
        from bankml.serve.sent import sent

        texts = sent(documents)
        added: dict[str, Any] = self.followed.of_now(lambda opened: whole(self._added(opened.store, texts, cancelled)))
        return added

    def _added(self, store: Store, texts: Iterable[Source], cancelled: Cancelled) -> dict[str, Any]:
        from bankml.library.add.ingest import Ingest

        embedder, why = self._embedder(store)
        ingest = Ingest(store, embedder, Configuration.read(store.path), why, cancelled=cancelled)
        ingest.run(texts).finished = True
        return ingest.added.object()

    def _embedder(self, store: Store) -> tuple[Embedder | None, str]:
        """Who embeds what is added; else why words alone find it."""
        try:
            embedder = self._choose(store)
            why = str(embedder.status()["why"])
            return (None, why) if why else (embedder, "")
        except UnavailableError as error:
            return None, str(error)

    def status(self) -> dict[str, Any]:
        """The answer of /kb/status: that of `bankml status`."""
        from bankml.library.upkeep.status import status

        settings = Settings.read()
        found: dict[str, Any] = whole(self.followed.of_now(lambda opened: status(opened.store, settings)).object())
        return found

    def close(self) -> None:
        """Ends what runs."""
        self.searches.close()
        self.additions.close()
        self.followed.close()


def _row(hit: Hit, terms: frozenset[str]) -> dict[str, Any]:
    found = spans(hit.text[:LOOKED_AT], terms)
    return {**asdict(hit), **asdict(excerpt(hit.text, found, MOST_TEXT, best(hit.text, found)))}


def _types(store: Store) -> list[str]:
    """Of its documents, to choose from."""
    with store.reading() as db:
        rows = db.execute("SELECT DISTINCT type FROM documents WHERE type <> ? ORDER BY type LIMIT 100", (record.TYPE,))
        return [row[0] for row in rows]


def _check(query: str) -> None:
    if len(query) > MOST_QUERY:
        raise InputError(f"the query has {len(query):,} characters; shorten it to {MOST_QUERY:,}")


def _check_how(n: int, wait: float | None, how: Mapping[str, Any]) -> None:
    if not 1 <= n <= MOST_RESULTS:
        raise InputError(f"n is {n}; ask for 1 to {MOST_RESULTS} passages")
    if wait is not None and not 0 <= wait <= MOST_WAIT:
        raise InputError(f"wait is {wait:g}; give 0 to {MOST_WAIT:g} seconds, or null for as long as it takes")
    for name in ("path", "type"):
        if isinstance(given := how.get(name), list) and len(given) > MOST_FILTERS:
            raise InputError(f"{name} has {len(given)} entries; give {MOST_FILTERS} at most")
