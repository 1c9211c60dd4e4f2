"""The store at a path as tools see it: what each takes and answers, without MCP."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bankml.library.model.binding import embedder
from bankml.library.search.answer import answer
from bankml.library.search.searcher import Searcher
from bankml.library.upkeep.status import status
from bankml.settings import Settings
from bankml.store import Store
from bankml.store.followed import Followed


@dataclass(frozen=True)
class Opened:
    """A store that is open, with its one searcher: one matrix, one encoder for all tools."""

    store: Store
    searcher: Searcher

    def close(self) -> None:
        """Ends what runs."""
        self.searcher.close()
        self.store.close()


class Memories:
    """Safe to use from many threads, which take turns. All raise Error in one sentence.

    `model`: whose vectors are searched, as `--model`; `session`: of the records that this process alone sees.
    """

    def __init__(self, path: Path, model: str | None, session: str) -> None:
        self.path, self.session = path, session
        self._model = model
        self._followed = Followed(path, self._open)

    def search(self, query: str, n: int = 10, mode: Any = "fused", **filters: Any) -> dict[str, Any]:
        """As `bankml search --json`."""
        return self._followed.of_now(lambda opened: answer(opened.searcher.search(query, n, mode, **filters)))

    def status(self) -> dict[str, Any]:
        """As `bankml status --json`, and the session."""
        settings = Settings.read()
        found = self._followed.of_now(lambda opened: status(opened.store, settings).object())
        return found | {"session": self.session}

    def close(self) -> None:
        """Ends what runs."""
        self._followed.close()

    def _open(self, path: Path) -> Opened:
        store = Store.open(path)
        return Opened(store, Searcher(store, lambda: embedder(store, Settings.read(), self._model)))
