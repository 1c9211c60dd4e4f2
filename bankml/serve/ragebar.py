"""A history as the page searches it: a few exchanges at a time, with what matches marked."""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bankml.history.searcher import Hit, Searcher
from bankml.lexical import spans
from bankml.serve.excerpts import Excerpt, excerpt
from bankml.serve.session import Session
from bankml.serve.workers import Workers
from bankml.utf8 import whole

QUESTION, ANSWER = 240, 420  # characters of an exchange in the list
WHOLE = 2**21  # characters of an exchange that is shown whole; a page of more is no help
LOOKED_AT = 2**16  # characters of a text in which what matches is looked for while somebody types
WAIT = 0.02  # seconds for the query's vector, which a small model gives in less; then words alone answer first
SEARCHES = 2  # at once; what is overtaken by the next letter is not begun


@dataclass
class Ragebar:
    """`path`: the history's; `session`: the browser that may ask."""

    path: Path
    searcher: Searcher
    session: Session = field(default_factory=Session)
    workers: Workers = field(default_factory=lambda: Workers(SEARCHES))

    def search(self, query: str, k: int) -> dict[str, Any]:
        """The answer of /history/search; an empty query finds the latest exchanges. Raises as `Searcher.search`."""
        found = self.searcher.search(query, k, WAIT)
        return {
            "results": [_row(hit, query) for hit in found.results],
            "status": found.status,
            "pending": found.pending,
            "file": self._name,
        }

    def exchange(self, id: int, query: str) -> dict[str, Any] | None:
        """The answer of /history/exchange; None where no exchange has this id. Raises StoreError."""
        if (found := self.searcher.exchange(id)) is None:
            return None
        user, assistant = (excerpt(text, spans(text, query), WHOLE) for text in (found.user, found.assistant))
        return {"id": id, **_texts(user, assistant)}

    def status(self) -> dict[str, Any]:
        """The answer of /history/status. Raises StoreError."""
        return {"file": self._name, **asdict(self.searcher.known())}

    def close(self) -> None:
        """Ends what runs."""
        self.workers.close()
        self.searcher.close()

    @property
    def _name(self) -> str:
        return str(whole(self.path.name))


def _row(hit: Hit, query: str) -> dict[str, Any]:
    user, assistant = (
        excerpt(text, spans(text[:LOOKED_AT], query), most)
        for text, most in ((hit.user, QUESTION), (hit.assistant, ANSWER))
    )
    return asdict(hit) | _texts(user, assistant)


def _texts(user: Excerpt, assistant: Excerpt) -> dict[str, Any]:
    return {
        "user": user.text,
        "assistant": assistant.text,
        "user_marks": user.marks,
        "assistant_marks": assistant.marks,
        "cut": user.cut or assistant.cut,
    }
