"""Ranking by words: BM25; see lexical.pyx."""

from collections.abc import Iterable
from typing import Self, final

import numpy as np
from numpy.typing import NDArray

from bankml.terms import Mode, marked, spans, tokens

__all__ = ["Index", "marked", "spans", "tokens"]

@final
class Index:
    """Texts, numbered from 0 as they are added, ranked by BM25. Safe to use from many threads.

    `mode`: as in `tokens`; k1 from 0 to 1000, b from 0 to 1. Raises InputError.
    """

    name: str
    why: str
    @property
    def mode(self) -> Mode: ...
    @property
    def k1(self) -> float: ...
    @property
    def b(self) -> float: ...
    def __new__(cls, mode: Mode = "unicode", k1: float = 1.2, b: float = 0.75) -> Self: ...
    def add(self, text: str) -> int:
        """The number of the text that was added. Raises InputError."""
    def extend(self, texts: Iterable[str]) -> None:
        """Adds texts in order. Raises InputError with the `index` of the first that is none; those before it stay."""
    def search(self, query: str, k: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The best k texts of the query: (numbers int64 (m,), scores float64 (m,)), best first, equals by number.

        m ≤ k: texts without a term of the query are none. Raises InputError.
        """
    def __len__(self) -> int: ...
