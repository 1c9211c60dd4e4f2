"""One line that says which arms ranked, how many of the passages they know, and why one is missing."""

from collections.abc import Sequence

NO_DOCUMENTS = "there are no documents: run `bankml add PATH`; `bankml query` finds records"
EMPTY = "the knowledge base is empty: run `bankml add PATH`"
NOTHING_ASKED = "the query has no letter and no digit: give words or a question"
AS_ASKED = "as asked"
NOT_EMBEDDED = "nothing is embedded yet: run `bankml reindex`"
OTHER_RECIPE = "all that is embedded is of another recipe: run `bankml reindex`"


def sentence(shown: int, total: int, arms: str, notes: Sequence[str] = ()) -> str:
    """`3 of 120 passages · BM25 (FTS5) alone, as asked`; notes follow, each behind a `·`."""
    return " · ".join([f"{shown:,} of {total:,} passages", arms, *notes])


def words_alone(words: str, why: str) -> str:
    """`BM25 (FTS5) alone: ` and why."""
    return f"{words} alone, {why}" if why == AS_ASKED else f"{words} alone: {why}"


def meaning_alone(model: str, embedded: int, total: int) -> str:
    """`all-MiniLM-L6-v2 (meaning, 3 of 3 embedded) alone, as asked`."""
    return f"{_meaning(model, embedded, total)} alone, {AS_ASKED}"


def no_meaning(why: str) -> str:
    """Where meaning alone was asked for, and there is none."""
    return f"nothing by meaning, as asked: {why}"


def both(words: str, model: str, embedded: int, total: int, alpha: float) -> str:
    """`BM25 (FTS5) + all-MiniLM-L6-v2 (meaning, 3 of 3 embedded), fused by convex combination (0.7)`."""
    return f"{words} + {_meaning(model, embedded, total)}, fused by convex combination ({alpha:g})"


def passing(count: int) -> str:
    """How many the filters let through."""
    return f"{count:,} {'passage passes' if count == 1 else 'passages pass'} the filters"


def left_out(foreign: int) -> str:
    """Of vectors that cannot be compared with the query's."""
    which = "1 passage" if foreign == 1 else f"{foreign:,} passages"
    return f"{which} embedded by another recipe left out of the meaning: run `bankml reindex`"


def _meaning(model: str, embedded: int, total: int) -> str:
    return f"{model} (meaning, {embedded:,} of {total:,} embedded)"
