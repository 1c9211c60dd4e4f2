"""What a record is, as factors of its relevance: each at most 1, so that none lifts a record above what it answers."""

from collections.abc import Sequence

from bankml.memory.recall.evidence import Evidence

FRESHNESS = {"current": 1.0, "needs_review": 0.94, "stale": 0.88}
STATUS = {"active": 1.0, "superseded": 0.94, "archived": 0.88}  # where others than the active ones were asked for
LEAST = 0.88  # of what no version of bankml has said
LEAST_CONFIDENCE = 0.9
LEAST_RECENCY = 0.99
IDENTIFIER_MISS = 0.98
CATEGORY_MISS = 0.90


def factors(one: Evidence, recency: float) -> dict[str, float]:
    """By name, each in 0.88…1. `recency`: 0…1, from the page's oldest to its newest."""
    return {
        "freshness": FRESHNESS.get(one.freshness, LEAST),
        "status": STATUS.get(one.status, LEAST),
        "confidence": LEAST_CONFIDENCE + (1 - LEAST_CONFIDENCE) * one.confidence,
        "recency": LEAST_RECENCY + (1 - LEAST_RECENCY) * recency,
        "identifier": IDENTIFIER_MISS if one.identifier_missed else 1.0,
        "category": CATEGORY_MISS if one.category_missed else 1.0,
    }


def recencies(page: Sequence[Evidence]) -> dict[str, float]:
    """Of each record by id: the share of the others that were changed before it."""
    instants = sorted(one.updated_at for one in page)
    before = {instant: number for number, instant in reversed(list(enumerate(instants)))}
    return {one.id: before[one.updated_at] / max(1, len(page) - 1) for one in page}
