"""The records that are ranked: the best of each arm, and those that the query names, with all that both arms say."""

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bankml.embedders.embedder import Floats
from bankml.library.search.arms import Arms
from bankml.library.search.asking import Question
from bankml.library.search.passages import Ids, isin
from bankml.library.search.ranking import NOTHING, Ranking
from bankml.library.search.state import State
from bankml.memory.recall import naming
from bankml.memory.recall.asked import Asked

FAR = 1 << 31  # a rank behind all others
DEEPER = 8  # times: so many more passages are asked for where the best are of too few records


@dataclass(frozen=True, slots=True)
class Pool:
    """The passages that pass (m,), ascending, and the document of each; these, each once, ascending."""

    passages: Ids
    owners: NDArray[np.int64]
    documents: NDArray[np.int64]

    def of(self, passages: Ids) -> NDArray[np.int64]:
        """The documents that these passages, all among the pool's, belong to."""
        return self.owners[np.searchsorted(self.passages, passages)]

    def within(self, documents: NDArray[np.int64]) -> "Pool":
        """Of these documents alone, ascending."""
        kept = isin(self.owners, documents)
        return Pool(self.passages[kept], self.owners[kept], documents)


@dataclass(frozen=True, slots=True)
class Best:
    """The best of one record's passages: scores by document, and the passage that has it."""

    scores: Mapping[int, float] = field(default_factory=dict)
    passages: Mapping[int, int] = field(default_factory=dict)

    @classmethod
    def of(cls, pool: Pool, found: Mapping[int, float]) -> "Best":
        """Of passages by id with their scores; equals: the first."""
        ids = np.array(sorted(found), np.int64)
        scores: dict[int, float] = {}
        best: dict[int, int] = {}
        for passage, document in zip(ids.tolist(), pool.of(ids).tolist(), strict=True):
            if document not in scores or found[passage] > scores[document]:
                scores[document], best[document] = found[passage], passage
        return cls(scores, best)


@dataclass(frozen=True, slots=True)
class Candidates:
    """By document: records' ranks in each arm, what each scores there at best, and how much of the query it holds."""

    arms: Arms
    documents: NDArray[np.int64]  # ascending
    words_ranks: Mapping[int, int]
    meaning_ranks: Mapping[int, int]
    words: Best
    meaning: Best
    coverage: Mapping[int, float]
    by_id: frozenset[int]
    by_name: frozenset[int]

    def passage(self, document: int) -> int | None:
        """The one to show: of the arm in which the record ranks before it does in the other."""
        by_words, by_meaning = self.words_ranks.get(document, FAR), self.meaning_ranks.get(document, FAR)
        first, second = (self.words, self.meaning) if by_words <= by_meaning else (self.meaning, self.words)
        return first.passages.get(document, second.passages.get(document))

    def embedded(self, pool: Pool) -> int:
        """How many of the passages that pass have a vector that was compared."""
        parts = () if self.arms.meaning.matrix is None else self.arms.meaning.matrix.parts
        return sum(len(part.rows_of(pool.passages)) for part in parts)

    def foreign(self, pool: Pool) -> int:
        """How many of the passages that pass have a vector of another recipe."""
        matrix = self.arms.meaning.matrix
        return 0 if matrix is None else int(isin(matrix.foreign.ids, pool.passages).sum())


def candidates(
    db: sqlite3.Connection, state: State, asked: Asked, question: Question, pool: Pool, explained: dict[str, Any]
) -> Candidates:
    """The best records of each arm, as deep as asked, as far as there are so many; `explained` is added to.

    A record of a hundred passages is one. Raises RebindError as `State.arms`.
    """
    arms, words, meaning = _arms(db, state, asked, question, pool, explained)
    by_id, by_name = _named(db, state, pool, asked)
    newest = sorted(by_name)[-asked.depth :]
    documents = np.array(sorted({*words, *meaning, *by_id, *newest}), np.int64)
    inner = pool.within(documents)
    return Candidates(
        arms,
        documents,
        _ranks(words),
        _ranks(meaning),
        Best() if arms.words is None else _by_words(db, state, asked.query, inner),
        _by_meaning(arms, question.vector, inner),
        coverage(db, state, asked.query, inner),
        by_id,
        by_name,
    )


def _arms(
    db: sqlite3.Connection, state: State, asked: Asked, question: Question, pool: Pool, explained: dict[str, Any]
) -> tuple[Arms, list[int], list[int]]:
    """Both arms as deep as it takes, and the documents of each, best first."""
    passages = depth = asked.depth
    while True:
        arms = state.arms(db, asked.query, asked.mode, question, passages, pool.passages, explained)
        rankings = arms.words or NOTHING, arms.meaning.ranking
        words, meaning = (_documents(pool, ranking) for ranking in rankings)
        enough = [
            len(found) >= depth or len(ranking.ids) < passages
            for found, ranking in zip((words, meaning), rankings, strict=True)
        ]
        if all(enough):
            return arms, words[:depth], meaning[:depth]
        passages *= DEEPER


def _named(db: sqlite3.Connection, state: State, pool: Pool, asked: Asked) -> tuple[frozenset[int], frozenset[int]]:
    """The documents of records that the query says the id of, and of those that it may name."""
    if not asked.identifiers:
        return frozenset(), frozenset()
    by_id = np.array(list(naming.by_id(db, asked.identifiers.ids).values()), np.int64)
    by_id = by_id[isin(by_id, pool.documents)]
    if asked.mode == "meaning":
        return frozenset(by_id.tolist()), frozenset()
    return frozenset(by_id.tolist()), frozenset(_by_name(db, state, pool, asked))


def _by_name(db: sqlite3.Connection, state: State, pool: Pool, asked: Asked) -> set[int]:
    """Of each name that is not common among those that pass, so that one that is keeps no other from being found."""
    citing = (naming.citing(db, name) for name in naming.names(asked.identifiers))
    holding = (naming.holding(db, literal, state.total(db)) for literal in asked.identifiers.literals)
    every = [found[isin(found, pool.documents)] for found in citing]
    every += [np.unique(pool.of(found[isin(found, pool.passages)])) for found in holding]
    most = naming.common(pool.documents.size)
    return {document for found in every if found.size <= most for document in found.tolist()}


def _documents(pool: Pool, ranking: Ranking) -> list[int]:
    return list(dict.fromkeys(pool.of(ranking.ids).tolist()))


def _ranks(documents: list[int]) -> dict[int, int]:
    return {document: rank for rank, document in enumerate(documents, 1)}


def _by_words(db: sqlite3.Connection, state: State, query: str, pool: Pool) -> Best:
    if not pool.passages.size:
        return Best()
    found = state.arms(db, query, "words", Question(), pool.passages.size, pool.passages, {}).words or NOTHING
    return Best.of(pool, dict(zip(found.ids.tolist(), found.scores.tolist(), strict=True)))


def _by_meaning(arms: Arms, vector: Floats | None, pool: Pool) -> Best:
    if arms.meaning.why or arms.meaning.matrix is None or vector is None:
        return Best()
    return Best.of(pool, arms.meaning.matrix.cosines(vector, pool.passages))


def coverage(db: sqlite3.Connection, state: State, query: str, pool: Pool) -> dict[int, float]:
    """By document: the share, by idf, of the query's terms that any of its passages holds."""
    held = state.held(db, query, pool.passages)
    if not (whole := float(held.weights.sum())):
        return {}
    places = np.searchsorted(pool.documents, pool.owners)
    holding = np.zeros((len(held.weights), pool.documents.size), bool)
    for row, passages in zip(holding, held.holding, strict=True):
        row[places[passages]] = True
    shares = np.minimum(1.0, held.weights @ holding / whole)
    return dict(zip(pool.documents.tolist(), shares.tolist(), strict=True))
