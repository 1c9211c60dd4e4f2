"""What a process knows of a store, brought up to the state that a search sees."""

import sqlite3
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

from bankml.library.search import sentence
from bankml.library.search.arms import Arms, MeaningArm
from bankml.library.search.asking import Question
from bankml.library.search.copies import distinct
from bankml.library.search.filters import Filters
from bankml.library.search.hit import Found
from bankml.library.search.hits import hits
from bankml.library.search.meaning import Meaning
from bankml.library.search.passages import Ids
from bankml.library.search.ranking import Ranking
from bankml.library.search.words import Held, Words
from bankml.models.alphas import alpha
from bankml.store import Bound, Store, config, records

DEPTH = 3  # times n: so many of each arm are fused, as in the evaluation that chose the fusion
LEAST_DEPTH = 24
DEEPER = 8  # times: so many more are asked for where the best are the same text again and again
DEEPEST = 8192  # 8,192 copies of a text are 8 ms each time they are ranked; who has more is shown fewer results
FILTERS = 16  # what passes them is remembered, a byte for each passage
RARE = 4  # what a quarter of the passages hold tells none from the other,
FEW = 16  # if these are more than a glance takes in
THE = "the"  # half of the passages hold it where the texts are English prose


class RebindError(Exception):
    """The store is bound to another model than the one that the query was embedded with, or to other prefixes."""


class State:
    """Of one store, asked within its transactions, one after another: not for several threads at once."""

    def __init__(self, store: Store, large: int) -> None:
        self._words = Words()
        self.meaning = Meaning(store, large)
        self._state = ""
        self._asked_for: tuple[str, int] | None = None  # recipe and epoch of a store for which a model was asked again
        self._total = 0
        self._allowed: dict[Hashable, Ids] = {}  # of this state

    def total(self, db: sqlite3.Connection) -> int:
        """Passages in all."""
        if (state := config.state(db)) != self._state:
            self._total = int(db.execute("SELECT count(*) FROM chunks").fetchone()[0])
            self._state = state
            self._words.follow(state, self._total)
            self._allowed.clear()
        return self._total

    def search(
        self, db: sqlite3.Connection, query: str, n: int, mode: str, filters: Filters, question: Question
    ) -> Found:
        """As `Searcher.search`. Raises RebindError where the question is of another model than the store."""
        total, notes, explained = self.total(db), list[str](), dict[str, Any]()
        if not total:
            return Found([], sentence.sentence(0, 0, sentence.EMPTY), question.pending)
        allowed = documents = None  # passages of documents that pass, of all documents; None: every passage
        if (remembered := records.exist(db)) or filters:
            with _timed(explained, "filters"):
                allowed = self.passing(db, filters, filters.allowed)
                documents = self.passing(db, Filters(), Filters().allowed) if remembered else None
        if documents is not None and not (total := len(documents)):
            return Found([], sentence.sentence(0, 0, sentence.NO_DOCUMENTS), question.pending)
        if filters and allowed is not None:
            notes.append(sentence.passing(len(allowed)))
        depth = max(DEPTH * n, LEAST_DEPTH) if mode == "fused" else n
        while True:
            arms = self.arms(db, query, mode, question, depth, allowed, explained)
            ranked = distinct(db, arms.ranked(2 * depth), n)
            if len(ranked) == n or depth >= DEEPEST or arms.exhausted(depth):
                break
            depth *= DEEPER
        meaning = arms.meaning
        if meaning.matrix and not meaning.why and len(meaning.matrix.foreign):
            notes.append(sentence.left_out(len(meaning.matrix.foreign)))
        found = hits(db, ranked, arms, question.vector, allowed)
        status = sentence.sentence(len(found), total, arms.told(total, documents), notes)
        return Found(found, status, question.pending, explained | arms.explained(), self.marks(db, query))

    def arms(
        self,
        db: sqlite3.Connection,
        query: str,
        mode: str,
        question: Question,
        depth: int,
        allowed: Ids | None,
        explained: dict[str, Any],
    ) -> Arms:
        """The `depth` best passages of each arm, of those that are `allowed` (ascending; None: all).

        What is `explained` is added to. Raises RebindError as `search`.
        """
        self.total(db)
        words = None if mode == "meaning" else self._by_words(db, query, depth, allowed, explained)
        return Arms(words, self._by_meaning(db, query, question, depth, allowed, explained))

    def held(self, db: sqlite3.Connection, query: str, some: Ids) -> Held:
        """Which of `some` passages (ascending) hold which terms of a query."""
        self.total(db)
        return self._words.held(db, query, some)

    def marks(self, db: sqlite3.Connection, query: str) -> frozenset[str]:
        """The terms of a query that are worth marking: those that few passages hold, else all that any holds."""
        total, terms = self.total(db), self._words.terms(db, query)
        most = max(total / RARE, FEW)
        return frozenset(term for term, count in terms.used.items() if count < most) or frozenset(terms.used)

    def passing(self, db: sqlite3.Connection, what: Hashable, find: Callable[[sqlite3.Connection], Ids]) -> Ids:
        """The passages that `find` finds, remembered as `what` until the store changes."""
        self.total(db)
        if what not in self._allowed:
            if len(self._allowed) == FILTERS:
                self._allowed.clear()
            self._allowed[what] = find(db)
        return self._allowed[what]

    def _by_words(
        self, db: sqlite3.Connection, query: str, depth: int, allowed: Ids | None, explained: dict[str, Any]
    ) -> Ranking:
        with _timed(explained, "words"):
            terms = self._words.terms(db, query)
            ranking = self._words.rank(db, terms.used, depth, allowed)
        explained |= {"terms": terms.used, "left_out": terms.left_out}
        return ranking

    def _by_meaning(
        self,
        db: sqlite3.Connection,
        query: str,
        question: Question,
        depth: int,
        allowed: Ids | None,
        explained: dict[str, Any],
    ) -> MeaningArm:
        model, vector = question.model, question.vector
        if vector is None or model is None:
            return MeaningArm(question.why)
        if (bound := Bound.read(db)) is None:
            return MeaningArm(sentence.NOT_EMBEDDED)
        if (bound.digest, bound.dims) != (model.embedder.digest, model.embedder.dims):
            raise RebindError
        if bound.fingerprint != model.fingerprint and self._asked_for != (at := (bound.fingerprint, config.epoch(db))):
            self._asked_for = at
            raise RebindError
        with _timed(explained, "vectors"):
            matrix = self.meaning.follow(db, model.fingerprint, bound.dims)
        with _timed(explained, "meaning"):
            matrix, ranking = self.meaning.rank(db, matrix, vector, depth, allowed)
        explained |= {"matrix": self.meaning.source, "recall": self.meaning.recall}
        why = "" if len(matrix) else sentence.OTHER_RECIPE if len(matrix.foreign) else sentence.NOT_EMBEDDED
        english = query.isascii() and self._words.is_common(db, THE)
        return MeaningArm(why, ranking, matrix, bound.model_name, alpha(model.embedder.model, english))


@contextmanager
def _timed(explained: dict[str, Any], what: str) -> Iterator[None]:
    """Notes the milliseconds that the block takes."""
    start = perf_counter()
    yield
    explained[f"{what}_ms"] = round((perf_counter() - start) * 1e3, 2)
