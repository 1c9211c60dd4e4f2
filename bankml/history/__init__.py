"""A .history: what a person and an assistant said to each other, found again by words and by meaning."""

import os
import threading
from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bankml.history.searcher import Found, Searcher

__all__ = ["default_path", "search"]

MOST = 8  # histories of a process that are held: of 100,000 exchanges each takes some 100 MB

_lock = threading.Lock()
_searchers: "OrderedDict[Path, Searcher]" = OrderedDict()


def default_path() -> Path:
    """Where Savante keeps hers: savante/savante.history in bankml's own folder (BANKML_HOME)."""
    from bankml.settings import Settings

    return Settings.read().home / "savante" / "savante.history"


def search(path: str | os.PathLike[str] | None, query: str, k: int = 8, *, wait: float | None = None) -> "Found":
    """The k best exchanges of the history at `path` (None: `default_path()`); without a query the k latest.

    The first search of a file reads it, and starts to embed it in the background with the default model, if that is
    here: nothing waits for it, and the status says how much is done. `wait` as in Searcher.search. Raises StoreError
    when the history cannot be read, InputError for a k that is none.
    """
    return _searcher(Path(path) if path is not None else default_path()).search(query, k, wait)


def _searcher(path: Path) -> "Searcher":
    """The one of a file, or a new one where the environment names another model since."""
    from bankml.embedders.default import embedder
    from bankml.history.searcher import Searcher

    whole = Path(os.path.abspath(path))
    with _lock:
        found = _searchers.pop(whole, None)
        if found and found.embedder and not _is_default(found):
            found.close()
            found = None
        _searchers[whole] = found or Searcher(whole, embedder)
        while len(_searchers) > MOST:
            _searchers.popitem(last=False)[1].close()
        return _searchers[whole]


def _is_default(searcher: "Searcher") -> bool:
    from bankml.embedders.default import embedder
    from bankml.errors import Error

    try:
        return searcher.embedder is embedder()
    except Error:
        return False
