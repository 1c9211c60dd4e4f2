"""The vectors: whether each can be compared, and is searched."""

import sqlite3
from collections.abc import Iterator

import numpy as np

from bankml.errors import Error
from bankml.library.model import binding
from bankml.library.model.fingerprint import fingerprint
from bankml.library.upkeep.doctor.file import REPAIR
from bankml.library.upkeep.doctor.finding import Finding, ill, well
from bankml.settings import Settings
from bankml.store import Bound, Store, config

ROWS = 4096  # that are looked at at once: 6 MB of 384 numbers
LENGTH = 1e-3  # of a unit vector: sums of float32 err by 1e-6, and an exported one may be rounded
REINDEX = "`bankml reindex`"


def numbers(store: Store) -> Finding:
    """Whether each vector has the model's width, is finite and of unit length."""
    with store.reading() as db:
        count, wrong = _examined(db)
    if wrong:
        said = [f"chunk {chunk_id} {why}" for chunk_id, why in wrong]
        return ill("vectors", said, "vectors that cannot be compared", f"{REPAIR}, then {REINDEX}", _removed)
    return well("vectors", f"{count:,} are finite, of unit length and as wide as the model's")


def recipes(store: Store, settings: Settings) -> Finding:
    """Whether every chunk has a vector of the recipe that is searched."""
    with store.reading() as db:
        bound = Bound.read(db)
        recipe = recipe_of(store, settings, bound)
        rows = db.execute(
            "SELECT id, fingerprint FROM chunks LEFT JOIN chunks_vec ON chunk_id = id WHERE fingerprint IS NOT ?",
            (recipe,),
        ).fetchall()
        (count,) = db.execute("SELECT count(*) FROM chunks").fetchone()
    wrong = [f"chunk {number} has {f'one of {other}' if other else 'none'}" for number, other in rows]
    if wrong:
        return ill("coverage", wrong, "chunks have no vector that is searched", REINDEX)
    return well("coverage", f"all {count:,} chunks have one of the recipe {recipe or '(none)'}")


def _examined(db: sqlite3.Connection) -> tuple[int, list[tuple[int, str]]]:
    """How many there are; chunks and why their vectors are none."""
    count, wrong = 0, []
    bound = Bound.read(db)
    for ids, blobs in _rows(db):
        count += len(ids)
        wrong += _wrong(ids, blobs, 4 * bound.dims if bound else None)
    return count, wrong


def _rows(db: sqlite3.Connection) -> Iterator[tuple[list[int], list[bytes]]]:
    cursor = db.execute("SELECT chunk_id, vector FROM chunks_vec ORDER BY chunk_id")
    while rows := cursor.fetchmany(ROWS):
        ids, blobs = zip(*rows, strict=True)
        yield list(ids), list(blobs)


def _wrong(ids: list[int], blobs: list[bytes], size: int | None) -> list[tuple[int, str]]:
    """Chunks and why their vectors are none."""
    size = size or len(blobs[0])
    fitting = [(chunk_id, blob) for chunk_id, blob in zip(ids, blobs, strict=True) if len(blob) == size]
    wrong = [
        (chunk_id, f"has {len(blob) / 4:g} numbers, not {size // 4}")
        for chunk_id, blob in zip(ids, blobs, strict=True)
        if len(blob) != size
    ]
    rows = np.frombuffer(b"".join(blob for _, blob in fitting), "<f4").reshape(len(fitting), size // 4)
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    for number in np.flatnonzero(~(np.abs(lengths - 1) <= LENGTH)).tolist():
        length = lengths[number]
        wrong.append((fitting[number][0], f"has the length {length:.4g}" if np.isfinite(length) else "is not finite"))
    return wrong


def recipe_of(store: Store, settings: Settings, bound: Bound | None) -> str:
    """Of the vectors that searches use: the model's as it is now, else the recorded one; "" where there is none."""
    try:
        return fingerprint(binding.embedder(store, settings, anyway=True))
    except Error:
        return bound.fingerprint if bound else ""


def _removed(store: Store) -> str:
    """Others may have written since they were examined."""
    with store.writing() as db:
        _, wrong = _examined(db)
        db.executemany("DELETE FROM chunks_vec WHERE chunk_id = ?", ((chunk_id,) for chunk_id, _ in wrong))
        config.raise_epoch(db)
    return f"{len(wrong):,} vectors that could not be compared were removed"
