"""The order of a page of candidates: pure, of numbers alone.

relevance = (α · meaning + (1 - α) · words, and half of it for what the query names exactly) · Π priors

meaning: the cosine, scaled over the page; words: BM25 over the page's best, less where the query's words are hardly
there. What has no vector yet is taken to mean as much as its words say. All of it is in 0…1.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from bankml.fusion import RRF_K
from bankml.memory.recall.evidence import Evidence
from bankml.memory.recall.priors import factors, recencies

Fusion = Literal["convex", "rrf"]

ALPHA = 0.8  # the weight of meaning
HALF = 0.5  # of the query's terms, by idf: who holds fewer matched what every text has, and its BM25 counts for less
EXACT = 0.52  # the weight of what is named, where any candidate is: it passes the best of both arms that is not


@dataclass(frozen=True, slots=True)
class Ranked:
    """`factors`: what made its relevance, by name."""

    id: str
    relevance: float  # 0…1
    factors: dict[str, float]


def ranked(page: Sequence[Evidence], fusion: Fusion = "convex", alpha: float = ALPHA) -> list[Ranked]:
    """All of the page, best first: what the query says the id of, then by relevance, equals by id."""
    arms = _reciprocal(page) if fusion == "rrf" else _scaled(page, alpha)
    exact = EXACT if any(one.named or one.by_id for one in page) else 0.0
    recency = recencies(page)
    found = [_one(one, parts, exact, recency[one.id]) for one, parts in zip(page, arms, strict=True)]
    by_id = {one.id: one.by_id for one in page}
    return sorted(found, key=lambda each: (not by_id[each.id], -each.relevance, each.id))


def _one(one: Evidence, parts: dict[str, float], exact: float, recency: float) -> Ranked:
    """Of `parts`, which sum to what the arms say."""
    own = (1 - exact) * math.fsum(parts.values()) + exact * (one.named or one.by_id)
    priors = factors(one, recency)
    told = {**parts, "exact": float(one.named or one.by_id), **priors}
    return Ranked(one.id, min(1.0, own) * math.prod(priors.values()), told)


def _scaled(page: Sequence[Evidence], alpha: float) -> list[dict[str, float]]:
    """A convex combination of both arms; where one is empty the other alone."""
    cosines = [one.cosine for one in page if one.cosine is not None]
    low, high = min(cosines, default=0.0), max(cosines, default=0.0)
    best = max((one.bm25 for one in page), default=0.0)
    weight = (alpha if best else 1.0) if cosines else 0.0
    parts = []
    for one in page:
        words = one.bm25 / best * min(1.0, one.coverage / HALF) if best else 0.0
        meaning = words if one.cosine is None else _between(one.cosine, low, high)
        parts.append({"meaning": weight * meaning, "words": (1 - weight) * words})
    return parts


def _between(cosine: float, low: float, high: float) -> float:
    """0 for the page's lowest, 1 for its highest."""
    return (cosine - low) / (high - low) if high > low else 1.0


def _reciprocal(page: Sequence[Evidence]) -> list[dict[str, float]]:
    """Reciprocal rank fusion (Cormack, Clarke and Büttcher 2009) over its largest value, that of two first ranks."""
    most = any(one.words_rank for one in page) + any(one.meaning_rank for one in page)
    found = []
    for one in page:
        words = _share(one.words_rank)
        meaning = words if one.cosine is None and most > 1 else _share(one.meaning_rank)
        found.append({"meaning": meaning / max(1, most), "words": words / max(1, most)})
    return found


def _share(rank: int | None) -> float:
    """1 for the first."""
    return 0.0 if rank is None else (RRF_K + 1) / (RRF_K + rank)
