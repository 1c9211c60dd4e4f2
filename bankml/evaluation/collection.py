"""The documents of one language, to be searched by words and by meaning, and the queries of one language."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bankml import lexical
from bankml.evaluation.methods import DEPTH, Arm
from bankml.nearest import nearest


@dataclass(frozen=True)
class Queries:
    """Texts of one language; `ids` are those of the documents that answer them."""

    language: str
    ids: Sequence[str]
    texts: Sequence[str]


class Collection:
    """Documents of one language by their number, from 0; `ids` are those of their sections."""

    def __init__(self, language: str, ids: Sequence[str], texts: Sequence[str]) -> None:
        self.language, self.ids, self.texts = language, ids, texts

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of the document with an id."""
        return {id: number for number, id in enumerate(self.ids)}

    @cached_property
    def _index(self) -> lexical.Index:
        index = lexical.Index()
        index.extend(self.texts)
        return index

    def words(self, query: str) -> Arm:
        """The best by BM25."""
        ids, scores = self._index.search(query, DEPTH)
        return ids.tolist(), scores.tolist()

    def meaning(self, vector: NDArray[np.float32], matrix: NDArray[np.float32]) -> Arm:
        """The nearest to `vector` (dims,) by cosine; `matrix` (documents, dims) holds theirs, of unit length."""
        rows, cosines = nearest(matrix, vector, DEPTH)
        return rows.tolist(), cosines.tolist()
