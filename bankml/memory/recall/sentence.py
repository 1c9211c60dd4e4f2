"""One line that says what ranked records, how much of them it knows, and why something is missing."""

from collections.abc import Sequence

from bankml.library.search import sentence as searched
from bankml.library.search.arms import Arms
from bankml.library.search.words import Words
from bankml.memory.recall.relevance import Fusion

EMPTY = "nothing is remembered yet: run `bankml remember TITLE CONTENT`"
NOTHING_PASSES = "no record passes"
MISSING = ": run `bankml reindex --missing`"
FOREIGN = ", embedded by another recipe: run `bankml reindex`"


def sentence(shown: int, total: int, arms: str, notes: Sequence[str] = ()) -> str:
    """`3 of 120 records · BM25 (FTS5) alone, as asked`, of those that pass; notes follow, each behind a `·`."""
    return " · ".join([f"{shown:,} of {total:,} records", arms, *notes])


def told(arms: Arms, embedded: int, passages: int, fusion: Fusion, alpha: float) -> str:
    """Which arms ranked. `embedded`: of the passages that pass."""
    meaning = f"{arms.meaning.model} (meaning, {embedded:,} of {passages:,} passages embedded)"
    if arms.words is None:
        return searched.no_meaning(arms.meaning.why) if arms.meaning.why else f"{meaning} alone, {searched.AS_ASKED}"
    if arms.meaning.why:
        return searched.words_alone(Words.name, arms.meaning.why)
    how = f"convex combination ({alpha:g})" if fusion == "convex" else "reciprocal rank"
    return f"{Words.name} + {meaning}, fused by {how}"


def lacking(missing: int, foreign: int) -> list[str]:
    """Of passages without a vector, and of those whose vector is of another recipe: only what there are."""
    return [
        f"{'1 passage is' if count == 1 else f'{count:,} passages are'} found by words alone{what}"
        for count, what in ((missing, MISSING), (foreign, FOREIGN))
        if count
    ]


def not_shown(id: str, status: str, wanted: bool) -> str:
    """Of a record that the query names. `wanted`: its status was asked for, and something else keeps it out."""
    return f"{id} does not pass the filters" if wanted else f"{id} is {status}: --status {status} shows it"
