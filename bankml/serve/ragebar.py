"""A history as the page searches it: a few exchanges at a time, with what matches marked."""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bankml.errors import InputError
from bankml.history.searcher import Hit, Searcher
from bankml.lexical import marked, spans
from bankml.serve.excerpts import Excerpt, Span, excerpt
from bankml.serve.limits import MOST_QUERY, MOST_RESULTS
from bankml.serve.session import Session
from bankml.serve.workers import Workers
from bankml.utf8 import whole

QUESTION, ANSWER = 240, 420  # characters of an exchange in the list
WHOLE = 2**21  # characters of a text that is shown whole; a page of more is no help
# Marking takes some 100 ns a character, and other threads wait for most of that.
LOOKED_AT = 2**13  # characters of a text in which what matches is looked for while somebody types: 0.8 ms
WHOLE_LOOKED_AT = 2**16  # where it is shown whole
# Where nothing matches in those, what a term looks like is searched in so many, and what matches around that.
GLANCED_AT, TERMS, BEFORE = 2**16, 8, 64
WAIT = 0.02  # seconds for the query's vector, which a small model gives in less; then words alone answer first
SEARCHES = 2  # at once; what is overtaken by the next letter is not begun

Terms = frozenset[str]


@dataclass
class Ragebar:
    """`path`: the history's; `session`: the browser that may ask."""

    path: Path
    searcher: Searcher
    session: Session = field(default_factory=Session)
    workers: Workers = field(default_factory=lambda: Workers(SEARCHES))

    def search(self, query: str, k: int, shown: str = "") -> dict[str, Any]:
        """The answer of /history/search; an empty query finds the latest exchanges.

        Without results where it would be the one of the version that is `shown`. Raises as `Searcher.search`.
        """
        _check(query)
        if not 1 <= k <= MOST_RESULTS:
            raise InputError(f"k is {k}; ask for 1 to {MOST_RESULTS} exchanges")
        found = self.searcher.search(query, k, WAIT, shown)
        answer = {"version": found.version, "pending": found.pending}
        if shown and found.version == shown:
            return answer
        terms = marked(query)
        return {
            "results": [_row(hit, terms) for hit in found.results],
            "status": found.status,
            "file": self._name,
            **answer,
        }

    def exchange(self, id: int, query: str) -> dict[str, Any] | None:
        """The answer of /history/exchange; None where no exchange has this id. Raises StoreError, InputError."""
        _check(query)
        if (found := self.searcher.exchange(id)) is None:
            return None
        user, assistant = (
            excerpt(text, _spans(text, marked(query), 0, WHOLE_LOOKED_AT), WHOLE)
            for text in (found.user, found.assistant)
        )
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


def _check(query: str) -> None:
    if len(query) > MOST_QUERY:
        raise InputError(f"the query has {len(query):,} characters; shorten it to {MOST_QUERY:,}")


def _row(hit: Hit, terms: Terms) -> dict[str, Any]:
    user, assistant = (
        excerpt(text, _matches(text, terms), most) for text, most in ((hit.user, QUESTION), (hit.assistant, ANSWER))
    )
    return asdict(hit) | _texts(user, assistant)


def _matches(text: str, terms: Terms) -> list[Span]:
    """What matches at the beginning of a text; in a long one, else, around the first place that looks like it."""
    found = _spans(text, terms, 0, LOOKED_AT)
    if found or len(text) <= LOOKED_AT:
        return found
    glanced = text[:GLANCED_AT].lower()
    places = [place for term in sorted(terms)[:TERMS] if (place := glanced.find(term, LOOKED_AT - BEFORE)) >= 0]
    return _spans(text, terms, min(places) - BEFORE, LOOKED_AT) if places else []


def _spans(text: str, terms: Terms, start: int, most: int) -> list[Span]:
    """What matches in so many characters of the text; a word that is cut at their end does not."""
    end = start + most
    found = [(start + a, start + b) for a, b in spans(text[start:end], terms)]
    return [span for span in found if span[1] < end or len(text) <= end]


def _texts(user: Excerpt, assistant: Excerpt) -> dict[str, Any]:
    return {
        "user": user.text,
        "assistant": assistant.text,
        "user_marks": user.marks,
        "assistant_marks": assistant.marks,
        "cut": user.cut or assistant.cut,
    }
