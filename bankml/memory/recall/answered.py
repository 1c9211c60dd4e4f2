"""Candidates of one store or of several, ranked together, as they are given."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from bankml.memory.recall import script, sentence
from bankml.memory.recall.asked import Asked
from bankml.memory.recall.candidates import Candidates
from bankml.memory.recall.evidence import Evidence
from bankml.memory.recall.identifiers import READ
from bankml.memory.recall.judged import LAYERED, Calibration, judged
from bankml.memory.recall.page import Page
from bankml.memory.recall.recalled import Memory, Recalled
from bankml.memory.recall.relevance import Ranked, ranked
from bankml.store import Record
from bankml.store.record import Freshness

QUOTED = 0.5  # of the query's terms, by idf: what holds fewer is not taken apart to see whether it holds a quote


@dataclass(frozen=True, slots=True)
class Source:
    """A page of candidates. `repository`: "" for the asker's own, else a peer's name.

    `seen`: a record's freshness now, no better than was said. `measured`: the calibration of the model whose cosines
    these are.
    """

    page: Page
    seen: Callable[[Record], Freshness]
    measured: Calibration | None = None
    repository: str = ""


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A record of a page. `named`: by the query, or quoted."""

    source: Source
    found: Candidates
    document: int
    record: Record
    named: bool


def answered(asked: Asked, sources: Sequence[Source], notes: Sequence[str] = ()) -> Recalled:
    """The best of all pages. A record that is in two is the first one's. The first page is the asker's own.

    Where another store's candidates are among them no score is calibrated: each weighs words in its own corpus.
    """
    if unread := script.unread(asked.query, _models(sources)):
        sources = [replace(source, measured=None) for source in sources]
        notes = [*notes, unread]
    candidates = _candidates(asked, sources)
    best, freshness = _best(asked, candidates)
    layered = any(each.source.repository for each in candidates.values())
    own = sources[0].page
    total = sum(source.page.total for source in sources)
    return Recalled(
        [_memory(one, candidates[one.id], freshness[one.id], layered) for one in best],
        sentence.sentence(len(best), total, _arms(asked, sources), [*own.notes, *notes]),
        own.pending,
        own.explained,
        own.marks.union(*(source.page.marks for source in sources)),
    )


def _models(sources: Sequence[Source]) -> list[str]:
    """Those whose cosines there are."""
    arms = [source.page.found.arms.meaning for source in sources if source.page.found]
    return [arm.model for arm in arms if not arm.why]


def _arms(asked: Asked, sources: Sequence[Source]) -> str:
    """What ranked: where several stores answer, with the passages of all of them."""
    pages = [source.page for source in sources if source.page.found]
    if len(pages) < 2 or (found := pages[0].found) is None:
        return (pages or [sources[0].page])[0].arms
    embedded, passages = sum(page.embedded for page in pages), sum(page.passages_passing for page in pages)
    return sentence.told(found.arms, embedded, passages, asked.fusion, asked.alpha)


def _best(asked: Asked, candidates: Mapping[str, _Candidate]) -> tuple[list[Ranked], dict[str, Freshness]]:
    """The n best, and the freshness of each. Files are looked at here, where nobody waits for a searcher.

    Only those of records that are shown, or would be: what is seen lifts no record, so that the order is the one that a
    look at all of them gives.
    """
    evidence = {id: _evidence(asked, each) for id, each in candidates.items()}
    freshness: dict[str, Freshness] = {}
    while True:
        best = ranked(list(evidence.values()), asked.fusion, asked.alpha)[: asked.n]
        if not (unseen := [one.id for one in best if one.id not in freshness]):
            return best, freshness
        for id in unseen:
            of = candidates[id]
            freshness[id] = of.source.seen(of.record)
            evidence[id] = replace(evidence[id], freshness=freshness[id])


def _candidates(asked: Asked, sources: Sequence[Source]) -> dict[str, _Candidate]:
    """By the record's id."""
    candidates: dict[str, _Candidate] = {}
    for source in sources:
        if (found := source.page.found) is None:
            continue
        named = _named(asked, source.page, found)
        for document, record in source.page.records.items():
            if record.id not in candidates:
                candidates[record.id] = _Candidate(source, found, document, record, document in named)
    return candidates


def _evidence(asked: Asked, of: _Candidate) -> Evidence:
    found, document, record = of.found, of.document, of.record
    return Evidence(
        id=record.id,
        cosine=found.meaning.scores.get(document),
        bm25=found.words.scores.get(document, 0.0),
        coverage=found.coverage.get(document, 0.0),
        words_rank=found.words_ranks.get(document),
        meaning_rank=found.meaning_ranks.get(document),
        by_id=document in found.by_id,
        named=of.named,
        freshness=record.freshness,
        status=record.status,
        confidence=record.confidence,
        updated_at=record.updated_at,
        identifier_missed=asked.identifiers.missed(record) and not of.named,
        category_missed=bool(asked.prefer) and record.category not in asked.prefer,
    )


def _named(asked: Asked, page: Page, found: Candidates) -> set[int]:
    """What the query names or quotes, where meaning alone was not asked for.

    Of what it names, that of the asker's own folder if there is any: a path there is another file elsewhere.
    """
    if asked.mode == "meaning":
        return set()
    records = page.records
    named = {one for one in found.by_name if one in records and asked.identifiers.named(records[one])}
    named = {one for one in named if asked.root and records[one].root == asked.root} or named
    worth = (one for one in records if found.coverage.get(one, 0.0) > QUOTED)
    return named | {one for one in worth if asked.quotes.stand_in(_read(records[one], page.passages.get(one, "")))}


def _read(record: Record, passage: str) -> str:
    """Where a quote is looked for: in all of a record, of a huge one in the best passage."""
    return record.text if len(record.content) <= READ else passage


def _memory(one: Ranked, of: _Candidate, freshness: Freshness, layered: bool) -> Memory:
    found, document = of.found, of.document
    cosine, coverage = found.meaning.scores.get(document), found.coverage.get(document, 0.0)
    exact = of.named or document in found.by_id
    score, weak = judged(cosine, coverage, not found.arms.meaning.why, of.source.measured, exact)
    return Memory(
        record=of.record,
        freshness=freshness,
        repository=of.source.repository,
        score=LAYERED if layered and isinstance(score, float) else score,
        cosine=cosine,
        weak=weak,
        relevance=one.relevance,
        coverage=coverage,
        words_rank=found.words_ranks.get(document),
        meaning_rank=found.meaning_ranks.get(document),
        passage=of.source.page.passages.get(document, ""),
        factors=one.factors,
        exact=exact,
    )
