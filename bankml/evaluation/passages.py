"""Documents as a store keeps them: cut into passages that the model reads whole, the best of which ranks its document.

Of the evaluation's whole vectors each is one text, cut where the model's context ends.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bankml.documents.chunking import chunks
from bankml.documents.plain import plain
from bankml.evaluation.model import Model


@dataclass(frozen=True)
class Cut:
    """Passages of documents, those of one after those of another; `starts`: the first of each document, ascending."""

    texts: list[str]
    starts: NDArray[np.int64]

    def best(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """(documents,) of (passages,): of each document its best passage's."""
        return np.asarray(np.maximum.reduceat(values, self.starts))


def cut(documents: Sequence[str], model: Model) -> Cut:
    """Passages as `bankml add` makes them, counted with the model's own tokens; every document has one at least."""

    def count(texts: Sequence[str]) -> Sequence[int]:
        told = [model.prefixes.document + text for text in texts]
        return model.encoder.tokens(told, whole=True).counts.tolist() if told else []

    texts: list[str] = []
    starts: list[int] = []
    for document in documents:
        starts.append(len(texts))
        texts += [chunk.text for chunk in chunks(plain("", document, ()), count)] or [document]
    return Cut(texts, np.array(starts, dtype=np.int64))
