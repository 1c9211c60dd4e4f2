"""The matrix beside the store, which searches map instead of reading the table."""

import sqlite3
from collections.abc import Iterator

from bankml.library.search import sidecar
from bankml.library.search.matrix import Stamp
from bankml.library.search.part import Part
from bankml.library.upkeep.doctor.file import REPAIR
from bankml.library.upkeep.doctor.finding import Finding, ill, well
from bankml.library.upkeep.doctor.vectors import recipe_of
from bankml.settings import Settings
from bankml.store import Bound, Store


def matrix(store: Store, settings: Settings) -> Finding:
    """Whether, where it would be believed, it has the table's vectors."""
    place = sidecar.place(store.path)
    if not place.exists():
        return well("matrix", "there is none; searches make it when it is worth it")
    with store.reading() as db:
        bound = Bound.read(db)
        recipe = recipe_of(store, settings, bound)
        loaded = sidecar.load(place, store.path, Stamp.of(db, recipe, bound.dims)) if bound else None
        if loaded is None:
            return well("matrix", "it is of another state: the next search does not believe it and makes it anew")
        wrong = [f"chunk {chunk_id}" for part in loaded.parts for chunk_id in _unequal(db, part, recipe)]
    if wrong:
        return ill("matrix", wrong, "it differs from the table", REPAIR, _removed)
    return well("matrix", f"{len(loaded):,} vectors are the table's")


def _unequal(db: sqlite3.Connection, part: Part, recipe: str) -> Iterator[int]:
    """Chunks that are in both and differ; those that have gone since are no matter."""
    query = "SELECT vector FROM chunks_vec WHERE chunk_id = ? AND fingerprint = ?"
    for chunk_id, row in zip(part.ids.tolist(), part.rows, strict=True):
        found = db.execute(query, (chunk_id, recipe)).fetchone()
        if found and found[0] != row.astype("<f4").tobytes():
            yield chunk_id


def _removed(store: Store) -> str:
    sidecar.remove(sidecar.place(store.path))
    return "the matrix was removed; the next search makes it anew"
