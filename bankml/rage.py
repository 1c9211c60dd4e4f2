"""Another ranking by words: a module `rage.py` of the user's, where RAGE_PATH names its folder."""

import importlib.util
import math
import os
import sys
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from threading import Lock
from types import ModuleType
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bankml.errors import InputError
from bankml.lexical import Index
from bankml.utf8 import printable

FILE = "rage.py"
MODULE = "_bankml_rage"  # its name in sys.modules: another `rage` may be installed
NAME = "RAGE (rage.py, BM25)"
ASKED = 4  # times k hits, then four times as many again: they are chunks, several of which may be of one text
MOST = 100_000  # hits, after which no more are asked for

Ranking = tuple[NDArray[np.int64], NDArray[np.float64]]


class Words(Protocol):
    """What ranks texts by words: the built-in index, or one that stands in its place."""

    @property
    def name(self) -> str:
        """Who ranks, for a status line."""

    @property
    def why(self) -> str:
        """What failed, so that this one ranks; empty where nothing did."""

    def add(self, text: str) -> int:
        """The number of the text, from 0."""

    def extend(self, texts: Iterable[str]) -> None:
        """Adds texts in order."""

    def search(self, query: str, k: int) -> Ranking:
        """The best k texts: (numbers int64 (m,), scores float64 (m,)), best first."""

    def __len__(self) -> int: ...


def words(folders: str | None) -> Words:
    """An empty index: that of the first `rage.py` in these folders (RAGE_PATH), where there is one, else the built-in.

    Whoever names a folder runs its `rage.py`.
    """
    path = find(folders)
    return Index() if path is None else Rage(path)


def find(folders: str | None) -> Path | None:
    """The first `rage.py` in folders joined as in PATH; a `~` is a home, and what is no folder is passed over."""
    named = [os.path.expanduser(folder) for folder in (folders or "").split(os.pathsep) if folder.strip()]
    return next((Path(folder, FILE).resolve() for folder in named if Path(folder, FILE).is_file()), None)


class Rage:
    """The word arm: `rage.py` ranks, and from its first failure on the built-in index, which has every text as well.

    Of `rage.py` it uses `Index()`, `.add(text, source=…)` and `.search(query, k=…)` → pairs (score, doc), best first,
    with `doc.source` as it was given: a text's number in digits. Several hits of one text are its chunks; the first
    counts. Safe to use from many threads; `rage.py` sees one call at a time.
    """

    def __init__(self, path: Path, builtin: Index | None = None) -> None:
        self.path = path
        self.why = ""
        self._builtin = Index() if builtin is None else builtin
        self._lock = Lock()
        self._index: Any = None
        try:
            self._index = _loaded(path).Index()
        except (Exception, SystemExit) as error:
            self._give_up(error)

    @property
    def name(self) -> str:
        """Who ranks, for the status line."""
        return self._builtin.name if self.why else NAME

    def add(self, text: str) -> int:
        """As `Index.add`."""
        with self._lock:
            number = self._builtin.add(text)
            try:
                if not self.why:
                    self._index.add(text, source=str(number))
            except (Exception, SystemExit) as error:
                self._give_up(error)
            return number

    def extend(self, texts: Iterable[str]) -> None:
        """As `Index.extend`."""
        if isinstance(texts, str | bytes):
            raise InputError(f"texts is one {type(texts).__name__}; pass a list: [text]")
        for index, text in enumerate(texts):
            try:
                self.add(text)
            except InputError as error:
                error.index = index
                raise

    def search(self, query: str, k: int) -> Ranking:
        """As `Index.search`, with the scores and the order of `rage.py`. Hits with a score of 0 are none."""
        builtin = self._builtin.search(query, k)  # which checks what is asked for; a millisecond at most
        with self._lock:
            try:
                return builtin if self.why else self._ranked(query, k)
            except (Exception, SystemExit) as error:
                self._give_up(error)
                return builtin

    def __len__(self) -> int:
        return len(self._builtin)

    def _ranked(self, query: str, k: int) -> Ranking:
        """Asks for more until k texts are among the hits, or no more come."""
        wanted = asked = min(k, len(self))
        hits: list[Any] = []
        best: dict[int, float] = {}
        while len(best) < wanted and (asked < MOST or not hits):
            asked, before = ASKED * asked, len(hits)
            hits = list(islice(self._index.search(query, k=asked), asked))
            best = self._first(hits)
            if not before < len(hits) == asked:
                break
        numbers = list(best)[:wanted]
        return np.array(numbers, np.int64), np.array([best[number] for number in numbers], np.float64)

    def _first(self, hits: list[Any]) -> dict[int, float]:
        """Each text's first hit. Raises ValueError for what is no text or no score."""
        best: dict[int, float] = {}
        for score, doc in hits:
            number, score = int(doc.source), float(score)
            if not 0 <= number < len(self):
                raise ValueError(f"a hit has the source {doc.source!r}, which none of the texts has")
            if not math.isfinite(score):
                raise ValueError(f"a hit has the score {score}")
            if score:
                best.setdefault(number, score)
        return best

    def _give_up(self, error: BaseException) -> None:
        self.why = printable(f"{self.path} failed ({type(error).__name__}: {error}), so the built-in BM25 ranks")
        self._index = None


def _loaded(path: Path) -> ModuleType:
    """The module in this file, which may import its neighbours while it is loaded; sys.path is as it was afterwards."""
    spec = importlib.util.spec_from_file_location(MODULE, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python module")
    module = importlib.util.module_from_spec(spec)
    before = list(sys.path)
    sys.modules[MODULE] = module  # where dataclasses and pickle look for it
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path[:] = before
    return module
