"""All that ranks one record, without the record."""

from dataclasses import dataclass

from bankml.store.record import Freshness, Status


@dataclass(frozen=True, slots=True)
class Evidence:
    """Of a candidate. `cosine`, `bm25`: of its best passage in each arm; ranks: among records, from 1, None: not there.

    `coverage`: the share, by idf, of the query's terms that it holds, 0…1. `by_id`: the query says its id; `named`: the
    query names a file that it cites, or something that stands in its text word for word. Confidence: 0…1.
    """

    id: str
    cosine: float | None = None  # None: nothing of it has a vector that may be compared
    bm25: float = 0.0
    coverage: float = 0.0
    words_rank: int | None = None
    meaning_rank: int | None = None
    by_id: bool = False
    named: bool = False
    freshness: Freshness = "current"
    status: Status = "active"
    confidence: float = 1.0
    updated_at: int = 0
    identifier_missed: bool = False
    category_missed: bool = False
