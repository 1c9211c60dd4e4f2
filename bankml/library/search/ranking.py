"""The best of many scores."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Ranking(NamedTuple):
    """Passages by id with their scores, best first."""

    ids: NDArray[np.int64]  # (m,)
    scores: NDArray[np.float64]  # (m,)


NOTHING = Ranking(np.empty(0, np.int64), np.empty(0))


def best(ids: NDArray[np.int64], scores: NDArray[np.floating], k: int) -> Ranking:
    """The k of the largest scores, best first, equals by id."""
    if len(ids) > k:
        least = np.partition(scores, len(scores) - k)[len(scores) - k]
        kept = np.flatnonzero(scores >= least)  # more than k where others score as the last
        ids, scores = ids[kept], scores[kept]
    order = np.lexsort((ids, -scores))[:k]
    return Ranking(ids[order], scores[order].astype(np.float64))
