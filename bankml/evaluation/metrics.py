"""How well a ranking answers a query: pure functions of the ids it shows, best first, and of those that are relevant.

Relevance is yes or no. `ranked` holds each id once; what it does not show was not found.
"""

import math
from collections.abc import Collection, Hashable, Sequence

TOP = 10


def recall(ranked: Sequence[Hashable], relevant: Collection[Hashable], k: int = TOP) -> float:
    """The part of the relevant that is among the first `k`: |top k ∩ relevant| / |relevant|.

    Manning, Raghavan, Schütze, Introduction to Information Retrieval (2008), 8.3. 0 where nothing is relevant.
    """
    return len(set(ranked[:k]) & set(relevant)) / len(relevant) if relevant else 0.0


def reciprocal_rank(ranked: Sequence[Hashable], relevant: Collection[Hashable]) -> float:
    """1 / the rank, from 1, of the first that is relevant; 0 without one. Its mean over queries is MRR.

    Voorhees, The TREC-8 Question Answering Track Report (1999).
    """
    return next((1 / rank for rank, id in enumerate(ranked, 1) if id in relevant), 0.0)


def ndcg(ranked: Sequence[Hashable], relevant: Collection[Hashable], k: int = TOP) -> float:
    """Normalised discounted cumulative gain: Σ 1/log₂(1 + rank) over the relevant in the first `k`, over the most it
    could be.

    Järvelin, Kekäläinen, Cumulated gain-based evaluation of IR techniques (TOIS 20, 2002), with the discount log₂(1 +
    rank) of Burges et al. (ICML 2005), as trec_eval has it. 0 where nothing is relevant.
    """
    gain = sum(_discount(rank) for rank, id in enumerate(ranked[:k], 1) if id in relevant)
    best = sum(_discount(rank) for rank in range(1, min(k, len(relevant)) + 1))
    return gain / best if best else 0.0


def _discount(rank: int) -> float:
    return 1 / math.log2(1 + rank)
