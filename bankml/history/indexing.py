"""Embedding what a history holds and its cache does not."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bankml.cache import Cache, Vectors, key
from bankml.embedders.batches import batches
from bankml.embedders.embedder import Cancelled, Embedder, Floats
from bankml.embedders.licences import check_licence
from bankml.errors import CancelledError, InputError, NotFiniteError
from bankml.history.exchange import Exchange, of
from bankml.history.file import History

MOST = 64  # texts of a call

Part = list[tuple[str, int]]  # keys of texts and numbers of exchanges
Progress = Callable[[int, int], None]
"""Called as progress(texts embedded, texts to embed)."""


@dataclass(frozen=True, slots=True)
class Indexed:
    """`embedded`: texts embedded now; `cached`: vectors that were there before; `total`: exchanges."""

    embedded: int
    cached: int
    total: int
    skipped_lines: int


def cache_path(history: Path) -> Path:
    """Where the vectors of a history lie: beside it, as private as it is."""
    return history.parent / f"{history.name}.emb"


def index(
    path: Path,
    embedder: Embedder,
    records: Iterable[Mapping[str, Any]] | None = None,
    *,
    batch: int = MOST,
    progress: Progress | None = None,
    cancelled: Cancelled | None = None,
    allow_licence: Collection[str] = (),
) -> Indexed:
    """Embeds the exchanges of the history at `path` (or `records` of it) that its cache has no vector for.

    `batch`: texts of a call at most; each call's vectors are on the disk before the next, and stay whatever is raised:
    LicenceError for a model whose licence is not known to be open unless `allow_licence` names it, UnavailableError
    when the embedder cannot go on, NotFiniteError at the end when a text has no vector, CancelledError, StoreError
    (ChangedError for a history that was edited meanwhile: no text is embedded under another's key), InputError.
    """
    if batch < 1:
        raise InputError(f"batch is {batch}; give the number of texts of a call, 1 or more")
    check_licence(embedder, allow_licence)
    texts = _Records(records) if records is not None else _File(path)
    cache = Cache(cache_path(path))
    vectors = cache.vectors(embedder.digest, embedder.dims)
    cached = len(vectors)
    missing = [one for one in texts.keys(embedder.document_prefix, cancelled).items() if one[0] not in vectors]
    done = passed = without = 0
    why = ""
    for part in batches(missing, batch):
        if cancelled and cancelled():
            raise CancelledError(f"the caller gave up when {passed} of {len(missing)} texts were embedded")
        left = _left(part, vectors)
        embedded, found, error = _embedded(left, texts.text, embedder, cancelled)
        cache.append(embedder.model, embedder.digest, [name for name, _ in embedded], found, embedder.engine)
        done, passed, without = done + len(embedded), passed + len(part), without + len(left) - len(embedded)
        why = why or str(error or "")
        if progress:
            progress(passed, len(missing))
    if without:
        raise NotFiniteError(f"{without} of {texts.total} exchanges have no vector, the others have: {why}")
    return Indexed(done, cached, texts.total, texts.skipped)


def _embedded(
    part: Part, text: Callable[[int], str], embedder: Embedder, cancelled: Cancelled | None
) -> tuple[Part, Floats, NotFiniteError | None]:
    """The vectors of a part, without the texts that have none, and why the first of these has none."""
    without: NotFiniteError | None = None
    while True:
        try:
            return part, embedder.embed([text(number) for _, number in part], cancelled=cancelled), without
        except NotFiniteError as error:
            if not error.indexes:
                raise
            without = without or error
            part = [one for at, one in enumerate(part) if at not in error.indexes]


def _left(part: Part, vectors: Vectors) -> Part:
    """What no other process has embedded meanwhile."""
    vectors.follow()
    return [one for one in part if one[0] not in vectors]


class _File:
    """Texts by number, read when they are needed: a history may be larger than memory."""

    def __init__(self, path: Path) -> None:
        self._history = History(path)

    def keys(self, prefix: str, cancelled: Cancelled | None) -> dict[str, int]:
        """The key of each text and the number of the first exchange that has it."""
        found: dict[str, int] = {}

        def add(exchange: Exchange) -> None:
            if cancelled and self.total % 1000 == 999 and cancelled():
                raise CancelledError(f"the caller gave up when {self.total + 1:,} exchanges were read")
            found.setdefault(key(exchange.embedded(prefix)), self.total)
            self.total += 1

        self.total = 0
        self._history.follow(add, found.clear)
        self.skipped = self._history.skipped
        return found

    def text(self, number: int) -> str:
        return self._history.exchange(number).embedded()


class _Records:
    """Texts of records that the caller holds."""

    def __init__(self, records: Iterable[Mapping[str, Any]]) -> None:
        self._exchanges: list[Exchange] = []
        self.skipped = 0
        for number, record in enumerate(records):
            try:
                found = of(record, number)
            except (ValueError, AttributeError):  # what was said is no text, or the record no mapping
                self.skipped += 1
                continue
            if found:
                self._exchanges.append(found)
        self.total = len(self._exchanges)

    def keys(self, prefix: str, cancelled: Cancelled | None) -> dict[str, int]:
        """As of _File."""
        found: dict[str, int] = {}
        for number, exchange in enumerate(self._exchanges):
            found.setdefault(key(exchange.embedded(prefix)), number)
        return found

    def text(self, number: int) -> str:
        return self._exchanges[number].embedded()
