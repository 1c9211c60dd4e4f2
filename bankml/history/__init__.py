"""A .history: what a person and an assistant said to each other, found again by words and by meaning."""

import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bankml.history.search import Found, Searcher

__all__ = ["default_path", "search"]

_lock = threading.Lock()
_searchers: "dict[Path, Searcher]" = {}


def default_path() -> Path:
    """Where Savante keeps hers: savante/savante.history in bankml's own folder (BANKML_HOME)."""
    from bankml.settings import Settings

    return Settings.read().home / "savante" / "savante.history"


def search(path: str | os.PathLike[str] | None, query: str, k: int = 8, *, wait: float | None = None) -> "Found":
    """The k best exchanges of the history at `path` (None: `default_path()`); without a query the k latest.

    The first search of a file starts to embed it in the background with the default model, if that is here: nothing
    waits for it, and the status says how much is done. `wait` as in Searcher.search. Raises StoreError when the
    history cannot be read, InputError for a k that is none.
    """
    return _searcher(Path(path) if path is not None else default_path()).search(query, k, wait)


def _searcher(path: Path) -> "Searcher":
    from bankml.embedders.default import embedder
    from bankml.history.search import Searcher

    whole = Path(os.path.abspath(path))
    with _lock:
        if whole not in _searchers:
            _searchers[whole] = Searcher(whole, embedder)
        return _searchers[whole]
