"""Records that answer a query, by words, by meaning and by name, over the one index of a store."""

from collections.abc import Callable, Sequence
from functools import partial

from bankml.errors import MismatchError
from bankml.library.search.asking import Question
from bankml.library.search.searcher import Mode, Searcher
from bankml.memory import calibration, freshness
from bankml.memory.recall import sentence
from bankml.memory.recall.asked import Asked
from bankml.memory.recall.candidates import Candidates
from bankml.memory.recall.evidence import Evidence
from bankml.memory.recall.judged import Calibration, judged
from bankml.memory.recall.page import Page, page
from bankml.memory.recall.recalled import Memory, Recalled
from bankml.memory.recall.relevance import ALPHA, Fusion, Ranked, ranked
from bankml.memory.recall.wanted import Wanted, one_of
from bankml.settings import Settings
from bankml.store import Record
from bankml.store.record import CATEGORIES, Freshness

QUOTED = 0.5  # of the query's terms, by idf: what holds fewer is not taken apart to see whether it holds a quote


class Recaller:
    """The records of one searcher's store; safe to use from many threads.

    `seen`: the freshness of a record as it is now. `calibrated`: what was measured of the model of a digest.
    """

    def __init__(
        self,
        searcher: Searcher,
        seen: Callable[[Record], Freshness] | None = None,
        calibrated: Callable[[str], Calibration | None] | None = None,
    ) -> None:
        self.searcher = searcher
        self.seen = seen or freshness.seen
        self._calibrated = calibrated or _measured

    def recall(
        self,
        query: str,
        n: int = 10,
        mode: Mode = "fused",
        fusion: Fusion = "convex",
        statuses: Sequence[str] = ("active",),
        categories: Sequence[str] = (),
        namespaces: Sequence[str] = (),
        session: str = "",
        tags: Sequence[str] = (),
        root: bytes = b"",
        wait: float | None = None,
        *,
        prefer: Sequence[str] = (),
        alpha: float = ALPHA,
    ) -> Recalled:
        """The n records that answer best, of those that pass (`Wanted`). One that the query names by id comes first.

        `prefer`: categories that rank before others. `alpha`: the weight of meaning in `convex`. `root`: of who asks: a
        file that is named is one of there, if any is. `wait`: as of `Searcher.search`. Where the meaning cannot be had,
        another model than the store's among the reasons, words alone rank and the status says why.

        One state of the store is asked, whatever is written meanwhile. Raises InputError for what cannot be asked,
        UnavailableError or MismatchError for meaning alone where there is none, StoreError.
        """
        wanted = Wanted.of(statuses, categories, namespaces, session, tags)
        asked = Asked.of(query, n, mode, fusion, alpha, wanted, one_of("category", prefer, CATEGORIES), root)
        return self._recalled(asked, self._page(asked, wait))

    def _page(self, asked: Asked, wait: float | None) -> Page:
        read = partial(page, asked)
        try:
            return self.searcher.asked(asked.query, asked.mode, wait, read)
        except MismatchError as error:
            if asked.mode == "meaning":
                raise
            by_words = Question(why=str(error))
        return self.searcher.asked(asked.query, "words", wait, lambda db, state, _: read(db, state, by_words))

    def _recalled(self, asked: Asked, read: Page) -> Recalled:
        """Cited files are looked at here, where nobody waits for the searcher."""
        results: list[Memory] = []
        if read.found:
            seen = {document: self.seen(record) for document, record in read.records.items()}
            documents = {record.id: document for document, record in read.records.items()}
            best = ranked(_evidence(asked, read.found, read.records, seen), asked.fusion, asked.alpha)[: asked.n]
            measured = self._calibrated(read.digest) if read.digest else None
            results = [
                _memory(one, documents[one.id], read, read.found, seen[documents[one.id]], measured) for one in best
            ]
        status = sentence.sentence(len(results), read.total, read.arms, read.notes)
        return Recalled(results, status, read.pending, read.explained, read.marks)


def _evidence(
    asked: Asked, found: Candidates, records: dict[int, Record], seen: dict[int, Freshness]
) -> list[Evidence]:
    named = _named(asked, found, records)
    return [
        Evidence(
            id=record.id,
            cosine=found.meaning.scores.get(document),
            bm25=found.words.scores.get(document, 0.0),
            coverage=found.coverage.get(document, 0.0),
            words_rank=found.words_ranks.get(document),
            meaning_rank=found.meaning_ranks.get(document),
            by_id=document in found.by_id,
            named=document in named,
            freshness=seen[document],
            status=record.status,
            confidence=record.confidence,
            updated_at=record.updated_at,
            identifier_missed=asked.identifiers.missed(record) and document not in named,
            category_missed=bool(asked.prefer) and record.category not in asked.prefer,
        )
        for document, record in records.items()
    ]


def _named(asked: Asked, found: Candidates, records: dict[int, Record]) -> set[int]:
    """What the query names or quotes, where meaning alone was not asked for.

    Of what it names, that of the asker's own folder if there is any: a path there is another file elsewhere.
    """
    if asked.mode == "meaning":
        return set()
    named = {one for one in found.by_name if one in records and asked.identifiers.named(records[one])}
    named = {one for one in named if asked.root and records[one].root == asked.root} or named
    worth = (one for one in records if found.coverage.get(one, 0.0) > QUOTED)
    return named | {one for one in worth if asked.quotes.stand_in(records[one].text)}


def _memory(
    one: Ranked, document: int, read: Page, found: Candidates, seen: Freshness, measured: Calibration | None
) -> Memory:
    cosine, coverage = found.meaning.scores.get(document), found.coverage.get(document, 0.0)
    score, weak = judged(cosine, coverage, not found.arms.meaning.why, measured)
    return Memory(
        record=read.records[document],
        freshness=seen,
        repository="",
        score=score,
        cosine=cosine,
        weak=weak,
        relevance=one.relevance,
        coverage=coverage,
        words_rank=found.words_ranks.get(document),
        meaning_rank=found.meaning_ranks.get(document),
        passage=read.passages.get(document, ""),
        factors=one.factors,
    )


def _measured(digest: str) -> Calibration | None:
    return calibration.of(digest, Settings.read())
