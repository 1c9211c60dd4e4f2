"""Passages that were ranked, as they are shown."""

import os
import sqlite3
from collections.abc import Sequence

import numpy as np

from bankml.embedders.embedder import Floats
from bankml.library.search.arms import Arms
from bankml.library.search.copies import others
from bankml.library.search.hit import Hit
from bankml.library.search.passages import Ids
from bankml.library.search.ranking import Ranking

COLUMNS = """SELECT path, title, type, document_id, heading, text, line, page, start, stop
    FROM chunks JOIN documents ON documents.id = document_id WHERE chunks.id = ?"""


def hits(
    db: sqlite3.Connection,
    ranked: Sequence[tuple[int, float]],
    arms: Arms,
    vector: Floats | None,
    allowed: Ids | None = None,
) -> list[Hit]:
    """In the order of `ranked`: (id, score). Each passage that has a vector is given its cosine to `vector`.

    Others of the same text are named where they are `allowed`.
    """
    cosines: dict[int, float] = {}
    if arms.meaning.matrix is not None and vector is not None and ranked:
        cosines = arms.meaning.matrix.cosines(vector, np.array([id for id, _ in ranked]))
    by_words, by_meaning = _ranks(arms.words), _ranks(arms.meaning.ranking)
    found = []
    for id, score in ranked:
        if (row := db.execute(COLUMNS, (id,)).fetchone()) is None:  # words of no passage, which `bankml doctor` tells
            continue
        path, *rest = row
        of_search = score, cosines.get(id), by_words.get(id), by_meaning.get(id)
        found.append(Hit(*(id, os.fsdecode(path), *rest, *of_search, *others(db, id, allowed))))
    return found


def _ranks(ranking: Ranking | None) -> dict[int, int]:
    return {} if ranking is None else {id: rank for rank, id in enumerate(ranking.ids.tolist(), 1)}
