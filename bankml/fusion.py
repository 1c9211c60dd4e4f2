"""One ranking of two: by ranks (reciprocal rank fusion) or by scores (convex combination)."""

import math
from collections.abc import Iterable, Mapping, Sequence

from bankml.errors import InputError

RRF_K = 60

Fused = list[tuple[int, float]]  # (item, score), best first


def rrf(*rankings: Iterable[int], k: float = RRF_K) -> Fused:
    """Σ 1 / (k + rank) over the rankings that hold an item, ranks from 1 (Cormack, Clarke and Büttcher 2009).

    Equal scores keep the order of the first ranking, then the second's. Of an item that a ranking holds twice its
    first place counts. Scores do not depend on the order of the rankings. Raises InputError for a k below 0.
    """
    if not 0 <= k < math.inf:
        raise InputError(f"k is {k!r}; give a number of 0 or more, {RRF_K} is usual")
    shares: dict[int, list[float]] = {}
    for ranking in rankings:
        for rank, item in enumerate(dict.fromkeys(map(int, ranking)), 1):
            shares.setdefault(item, []).append(1 / (k + rank))
    return _sorted({item: math.fsum(each) for item, each in shares.items()})


def convex(
    words: tuple[Sequence[int], Sequence[float]], meaning: tuple[Sequence[int], Sequence[float]], alpha: float
) -> Fused:
    """alpha · meaning + (1 - alpha) · words, each arm's scores scaled to 0…1 (Bruch, Gai and Ingber 2023).

    An arm is (items, scores), best first; its lowest score becomes 0 and its highest 1, and where all are equal each
    is 1. An item that an arm does not hold counts as that arm's lowest, 0: the arm ranked others before it. An empty
    arm gives nothing to any. Equal results keep the words' order, then the meaning's. Raises InputError for an alpha
    outside 0…1, and for scores that are not finite or not as many as items.
    """
    if not 0 <= alpha <= 1:
        raise InputError(f"alpha is {alpha!r}; give a number from 0 (words alone) to 1 (meaning alone)")
    by_words, by_meaning = _scaled("words", *words), _scaled("meaning", *meaning)
    items = dict.fromkeys([*by_words, *by_meaning])
    return _sorted({i: alpha * by_meaning.get(i, 0.0) + (1 - alpha) * by_words.get(i, 0.0) for i in items})


def _scaled(arm: str, items: Sequence[int], scores: Sequence[float]) -> dict[int, float]:
    """Each item's score between 0 and 1; the first where an item stands twice."""
    if len(items) != len(scores):
        raise InputError(f"{arm}: {len(items)} items and {len(scores)} scores; give one score for each item")
    found: dict[int, float] = {}
    for item, score in zip(items, scores, strict=True):
        found.setdefault(int(item), float(score))
    if not found:
        return {}
    low, high = min(found.values()), max(found.values())
    width = high - low
    if not all(map(math.isfinite, (*found.values(), width))):
        raise InputError(
            f"{arm}: a score is not finite, or they are too far apart to be compared; leave such items out"
        )
    return {item: (score - low) / width if width else 1.0 for item, score in found.items()}


def _sorted(scores: Mapping[int, float]) -> Fused:
    """Best first, equals in the order of the mapping."""
    return sorted(scores.items(), key=lambda each: -each[1])
