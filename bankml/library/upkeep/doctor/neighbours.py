"""The index of neighbours beside a store of very many passages, made here alone: that takes minutes."""

import sqlite3

from bankml.library.search.approximate import LARGE
from bankml.library.search.meaning import Meaning
from bankml.library.upkeep.doctor.file import REPAIR
from bankml.library.upkeep.doctor.finding import Finding, well
from bankml.library.upkeep.doctor.vectors import recipe_of
from bankml.settings import Settings
from bankml.store import Bound, Store

CHECK = "neighbours"


def neighbours(store: Store, settings: Settings, large: int = LARGE) -> Finding:
    """Without one nothing is wrong: searches are exact, and slower."""
    meaning = Meaning(store, large)
    with store.reading() as db:
        if (bound := Bound.read(db)) is None or _count(db) <= large:
            return well(CHECK, "none is needed: every search is exact")
        meaning.follow(db, recipe_of(store, settings, bound), bound.dims)
    if not meaning.wants_neighbours():
        return well(CHECK, "searches use it, or exact ones alone are possible here")
    return Finding(
        CHECK, 0, f"searches would be faster with a new one: {REPAIR} makes it", mend=lambda _: _made(meaning)
    )


def _made(meaning: Meaning) -> str:
    meaning.make_neighbours()
    if meaning.wants_neighbours():
        return "the index of neighbours could not be written; searches are exact"
    return "the index of neighbours was made"


def _count(db: sqlite3.Connection) -> int:
    return int(db.execute("SELECT count(*) FROM chunks_vec").fetchone()[0])
