"""Stores with a few documents, for searches."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from bankml.embedders import Embedder
from bankml.library.model import binding
from bankml.library.model.fingerprint import fingerprint
from bankml.store import Bound, DocumentRow, Passage, Store, documents, vectors


def unit(rows: NDArray[np.floating] | Sequence[Sequence[float]]) -> NDArray[np.float32]:
    """Rows of length one."""
    matrix = np.asarray(rows, np.float64)
    return (matrix / np.linalg.norm(matrix, axis=1, keepdims=True)).astype(np.float32)


def passages(texts: Sequence[str], heading: str = "") -> list[Passage]:
    """One behind the other, each on a line of its own."""
    return [Passage(text, heading, 0, len(text), line, None, 3) for line, text in enumerate(texts, 1)]


def put(
    store: Store, path: str | bytes, texts: Sequence[str], *, type: str = "text", modified: int = 0, heading: str = ""
) -> list[int]:
    """A document of these passages, words alone; the ids of those that are new."""
    name = path if isinstance(path, bytes) else path.encode()
    row = DocumentRow(name, type, "A title", "0" * 64, 1, modified, "1")
    with store.writing() as db:
        return [id for id, _ in documents.replace(db, row, passages(texts, heading)).added]


def bind(store: Store, dims: int, digest: str = "d" * 64, name: str = "m") -> None:
    """A model that need not exist, and a table for its vectors."""
    with store.writing() as db:
        Bound(name, dims, digest, "f" * 16).write(db)
        vectors.create(db, dims)


def give(store: Store, ids: Sequence[int], rows: NDArray[np.float32], recipe: str = "f" * 16) -> None:
    """Vectors for passages."""
    with store.writing() as db:
        vectors.insert(db, ids, recipe, rows)


def embedded(store: Store, embedder: Embedder, texts: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Documents by their path, embedded as `bankml add` does: the ids by text."""
    found: dict[str, int] = {}
    for path, each in texts.items():
        with store.writing() as db:
            binding.check(db, embedder)
            row = DocumentRow(path.encode(), "text", "A title", "0" * 64, 1, 0, "1")
            added = documents.replace(db, row, passages(each)).added
            ids = [id for id, _ in added]
            vectors.insert(db, ids, fingerprint(embedder), embedder.embed([text for _, text in added]))
        found |= dict(zip(each, ids, strict=True))
    return found
