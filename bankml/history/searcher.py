"""Searching a history by words and by meaning, as somebody types."""

import secrets
import threading
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Self

from bankml.embedders.asked import Asked
from bankml.embedders.embedder import Embedder, Floats
from bankml.embedders.queries import QueryVectors
from bankml.errors import BusyError, ChangedError, Error, InputError, StoreError
from bankml.fusion import rrf
from bankml.history.background import Background
from bankml.history.exchange import Exchange
from bankml.history.file import History
from bankml.history.indexing import Progress, cache_path, index
from bankml.history.meaning import Meaning
from bankml.history.model import Model
from bankml.history.status import latest, left_out, status
from bankml.rage import words as ranker
from bankml.settings import Settings

DEPTH = 3  # times k: so many of each arm are fused, 24 for k = 8
MIN_BYTES = 3  # of a query in UTF-8 that is asked for its meaning
MOST = 1000  # results of a search
TRIES = 3  # searches of a file that is edited meanwhile


@dataclass(frozen=True, slots=True)
class Hit:
    """An exchange that was found. Ranks count from 1; None in an arm that does not have it among its best."""

    id: int
    user: str
    assistant: str
    score: float  # of the fusion: tells the order, and nothing of strength
    cosine: float | None  # to the query; None where one of them has no vector
    words_rank: int | None
    meaning_rank: int | None


@dataclass(frozen=True, slots=True)
class Found:
    """`pending`: the query's meaning is being computed; asked again in a moment, there is more.

    `version`: of all that the answer is made from; "" where that may not be relied on.
    """

    results: list[Hit]
    status: str
    pending: bool = False
    version: str = ""


@dataclass(frozen=True, slots=True)
class Known:
    """`total`: exchanges; `embedded`: those that have a vector; `indexing`: the others are being embedded."""

    total: int
    embedded: int
    skipped_lines: int
    indexing: bool


class Searcher:
    """One history, followed from search to search; safe to use from many threads.

    `choose` gives the embedder; while it raises an Error, words alone rank and the status says why. `embed`: whether
    exchanges without a vector are embedded in the background, which `allow_licence` may be needed for. `count(1)` is
    called for each exchange that is read: a million take a minute.
    """

    def __init__(
        self,
        path: Path,
        choose: Callable[[], Embedder],
        *,
        embed: bool = True,
        allow_licence: Collection[str] = (),
        count: Callable[[int], None] = lambda more: None,
    ) -> None:
        self._path = path
        self._count = count
        self._embed = embed
        self._allow_licence = allow_licence
        self._lock = threading.Lock()
        self._history = History(path)
        self._words = ranker(Settings.read().rage_path)
        self._model = Model(choose)
        self._meaning: Meaning | None = None
        self._asked: Asked | None = None
        self._changes = 0  # of the history and of its cache that were seen
        self._name = secrets.token_hex(8)  # another Searcher's versions are not this one's
        self.indexing = Background(self._index)

    def search(self, query: str, k: int = 8, wait: float | None = None, shown: str = "") -> Found:
        """The k best exchanges, both arms fused by reciprocal rank; without a query the k latest.

        `wait`: seconds to wait for the model and the query's vector, which goes on being computed; None: as long as
        it takes, unless the model is busy with another query. `shown`: the version of an answer that the caller has;
        where this one would be the same, which a look at two files tells, it is without results and status. Raises
        StoreError when the history cannot be read.
        """
        if not isinstance(k, int) or not 1 <= k <= MOST:
            raise InputError(f"k is {k!r}; give a number of results from 1 to {MOST}")
        if not isinstance(query, str):
            raise InputError(f"the query is of type {type(query).__name__}; give a str")
        query = query.strip()
        vector, why, pending = self._vector(query, wait)
        for _ in range(TRIES):
            with suppress(ChangedError), self._lock:
                why = self._follow() or why
                version = self._version(query, k, vector is not None, why, pending)
                if version == shown:
                    return Found([], "", pending, version)
                return self._found(query, k, vector, why, pending, version)
        raise StoreError(f"{self._path} is changed faster than it can be read; ask again when it is at rest")

    def exchange(self, id: int) -> Exchange | None:
        """The exchange of this id; None where there is none. Raises StoreError when the history cannot be read."""
        with self._lock:
            self._follow()
            number = self._history.number(id)
            return None if number is None else self._history.exchange(number)

    def known(self) -> Known:
        """What is known of the history by now. Raises StoreError when it cannot be read."""
        self._model.look(0)
        with self._lock:
            self._follow()
            embedded = self._meaning.embedded if self._meaning else 0
            return Known(len(self._history), embedded, self._history.skipped, self.indexing.running)

    @property
    def embedder(self) -> Embedder | None:
        """Who ranks by meaning; None while nobody does."""
        return self._model.embedder

    def close(self) -> None:
        """Ends the indexing."""
        self.indexing.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _vector(self, query: str, wait: float | None) -> tuple[Floats | None, str, bool]:
        """The query's vector; else why there is none, and whether there will be."""
        embedder = self._model.look(wait)
        if embedder is None:
            return None, self._model.why, self._model.looking
        if self._asked is None:
            self._asked = Asked(QueryVectors(embedder))
        if not query:
            return None, "", False
        if len(query.encode(errors="replace")) < MIN_BYTES:
            return None, f"fewer than {MIN_BYTES} bytes have no meaning", False
        try:
            return self._asked.vector(query, wait), "", False
        except BusyError as error:
            return None, f"the meaning is {error}" if wait is not None else str(error), True
        except Error as error:
            return None, str(error), False

    def _version(self, *asked: object) -> str:
        """Of what an answer to this is made from: equal ones give equal answers."""
        made_from = (self._name, self._changes, self._notes(), asked)
        return blake2b(repr(made_from).encode(errors="backslashreplace"), digest_size=16).hexdigest()

    def _found(self, query: str, k: int, vector: Floats | None, why: str, pending: bool, version: str) -> Found:
        if not query:
            hits = self._latest(k)
            return Found(hits, self._status(len(hits), why, ranked=False), pending, version)
        try:
            hits = self._ranked(query, vector if not why else None, k)
        except ChangedError:
            raise
        except Error as error:  # of the vectors: the words' arm raises none
            hits, why, version = self._ranked(query, None, k), str(error), ""
        return Found(hits, self._status(len(hits), why, ranked=True), pending, version)

    def _follow(self) -> str:
        """Takes in what is new in the file and in its cache; why that cannot be read, so that words alone rank."""
        self._changes += self._history.follow(self._add, self._reset)
        try:
            self._follow_meaning()
        except ChangedError:
            raise
        except Error as error:
            return str(error)
        return ""

    def _follow_meaning(self) -> None:
        if self._meaning is None and self._model.embedder:
            meaning = Meaning(self._path, self._model.embedder)
            for exchange in self._history.exchanges(range(len(self._history))):
                meaning.add(exchange)
            self._meaning = meaning
        if self._meaning:
            self._changes += self._meaning.follow()
            if self._embed and self._meaning.missing:
                self.indexing.start()

    def _add(self, exchange: Exchange) -> None:
        self._words.add(exchange.text)
        self._count(1)
        if self._meaning:
            self._meaning.add(exchange)

    def _reset(self) -> None:
        self._words = ranker(Settings.read().rage_path)
        if self._meaning:
            self._meaning.reset()

    def _ranked(self, query: str, vector: Floats | None, k: int) -> list[Hit]:
        words = self._words.search(query, DEPTH * k)[0].tolist()
        meaning: list[int] = []
        cosines: dict[int, float] = {}
        if vector is not None and self._meaning:
            meaning = self._meaning.rank(vector, DEPTH * k)
        fused = rrf(words, meaning)[:k]
        if vector is not None and self._meaning:
            cosines = self._meaning.cosines(vector, [number for number, _ in fused])
        by_words, by_meaning = _ranks(words), _ranks(meaning)
        return [
            self._hit(number, score, cosines.get(number), by_words.get(number), by_meaning.get(number))
            for number, score in fused
        ]

    def _latest(self, k: int) -> list[Hit]:
        count = len(self._history)
        return [self._hit(number, 0.0, None, None, None) for number in range(count - 1, max(-1, count - 1 - k), -1)]

    def _hit(
        self, number: int, score: float, cosine: float | None, words_rank: int | None, meaning_rank: int | None
    ) -> Hit:
        found = self._history.exchange(number)
        return Hit(found.id, found.user, found.assistant, score, cosine, words_rank, meaning_rank)

    def _status(self, shown: int, without: str, ranked: bool) -> str:
        total, embedded, model = len(self._history), 0, None
        if self._meaning and not without:
            model, embedded = self._meaning.embedder.model, self._meaning.embedded
            if not embedded:
                model, without = None, f"nothing is embedded with {model} yet"
        if not ranked:
            return latest(shown, total, model, embedded, without, self._notes())
        return status(f"{shown:,}", total, self._words.name, model, embedded, without, self._notes())

    def _notes(self) -> list[str]:
        notes = []
        if self.indexing.running:
            notes.append(
                f"embedding {self.indexing.done:,} of {self.indexing.total:,}" if self.indexing.total else "embedding"
            )
        elif self.indexing.error:
            notes.append(f"not all is embedded: {self.indexing.error}")
        if self._words.why:
            notes.append(self._words.why)
        if self._meaning and self._meaning.skipped:
            notes.append(f"{self._meaning.skipped:,} bad lines in {cache_path(self._path).name}")
        if self._history.skipped:
            notes.append(left_out(self._history.skipped))
            if not len(self._history):
                notes.append("is it a .history, of JSON lines in UTF-8?")
        return notes

    def _index(self, progress: Progress, cancelled: Callable[[], bool]) -> None:
        if embedder := self._model.embedder:
            index(self._path, embedder, progress=progress, cancelled=cancelled, allow_licence=self._allow_licence)


def _ranks(numbers: Sequence[int]) -> dict[int, int]:
    return {number: rank for rank, number in enumerate(numbers, 1)}
