"""A query of records with all that it asks for."""

from dataclasses import dataclass
from typing import get_args

from bankml.errors import InputError
from bankml.library.search.searcher import MOST, Mode
from bankml.memory.recall.identifiers import CHARS, Identifiers
from bankml.memory.recall.quotes import Quotes
from bankml.memory.recall.relevance import ALPHA, Fusion
from bankml.memory.recall.wanted import Wanted

DEPTH = 3  # times n: so many records of each arm are ranked together
LEAST_DEPTH = 60  # so that of up to 20 results the first are the same, however many are asked for


@dataclass(frozen=True, slots=True)
class Asked:
    """`query`: the first `CHARS` of it; `prefer`: categories; `root`: of who asks, b"" for nobody's."""

    query: str
    n: int
    mode: Mode
    fusion: Fusion
    alpha: float
    wanted: Wanted
    prefer: tuple[str, ...]
    root: bytes
    identifiers: Identifiers
    quotes: Quotes

    @classmethod
    def of(
        cls,
        query: str,
        n: int = 10,
        mode: Mode = "fused",
        fusion: Fusion = "convex",
        alpha: float = ALPHA,
        wanted: Wanted | None = None,
        prefer: tuple[str, ...] = (),
        root: bytes = b"",
    ) -> "Asked":
        """Raises InputError for what cannot be asked."""
        if not isinstance(query, str):
            raise InputError(f"the query is of type {type(query).__name__}; give a str")
        if isinstance(n, bool) or not isinstance(n, int) or not 1 <= n <= MOST:
            raise InputError(f"n is {n!r}; give a number of results from 1 to {MOST}")
        if mode not in get_args(Mode):
            raise InputError(f"mode is {mode!r}; give words, meaning or fused")
        if fusion not in get_args(Fusion):
            raise InputError(f"fusion is {fusion!r}; give convex or rrf")
        if not 0 <= alpha <= 1:
            raise InputError(f"alpha is {alpha!r}; give a number from 0 (words alone) to 1 (meaning alone)")
        query = query[:CHARS]
        return cls(
            query, n, mode, fusion, alpha, wanted or Wanted(), prefer, root, Identifiers.of(query), Quotes.of(query)
        )

    @property
    def depth(self) -> int:
        """Records of each arm."""
        return max(DEPTH * self.n, LEAST_DEPTH)
