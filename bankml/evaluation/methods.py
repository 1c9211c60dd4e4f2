"""What is compared: words alone, meaning alone, and ways to fuse the two."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bankml import fusion

DEPTH = 30  # of each arm, three times the ten that are judged, as a search for ten takes
ALPHAS = tuple(round(step / 10, 1) for step in range(11))

Arm = tuple[Sequence[int], Sequence[float]]
"""Documents and their scores, best first."""


@dataclass(frozen=True)
class Method:
    """`rank` gives the documents of one query, best first, from its two arms."""

    name: str
    rank: Callable[[Arm, Arm], Sequence[int]]


def _reciprocal(k: int) -> Method:
    def rank(words: Arm, meaning: Arm) -> list[int]:
        return [id for id, _ in fusion.rrf(words[0], meaning[0], k=k)]

    return Method(f"RRF k={k}", rank)


def convex(alpha: float) -> Method:
    """The convex combination in which meaning has the weight `alpha`."""

    def rank(words: Arm, meaning: Arm) -> list[int]:
        return [id for id, _ in fusion.convex(words, meaning, alpha)]

    return Method(f"convex α={alpha:.1f}", rank)


WORDS = Method("words", lambda words, _: words[0])
MEANING = Method("meaning", lambda _, meaning: meaning[0])
RRF_60, RRF_2 = _reciprocal(60), _reciprocal(2)
CONVEX = tuple(map(convex, ALPHAS))
METHODS = (WORDS, MEANING, RRF_60, RRF_2, *CONVEX)
