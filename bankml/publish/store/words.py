"""The terms of a query among those of published stores, and BM25 in SQL."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log1p
from typing import Any, LiteralString

from bankml.library.search.state import FEW as FEW_MARKED
from bankml.library.search.state import RARE
from bankml.library.search.words import CHARS, FEW, K1, READ, TERMS, B
from bankml.publish.connection import Connection
from bankml.publish.store import lexemes, ranks
from bankml.terms import tokens

NAME = "BM25 (PostgreSQL)"
COUNTS = "SELECT coalesce(sum(passages), 0), coalesce(sum(length), 0) FROM bankml_stores WHERE number = ANY(%s)"
FREQUENCIES = "SELECT term, sum(passages) FROM bankml_terms WHERE term = ANY(%s) AND store = ANY(%s) GROUP BY term"
# Of the row `p`, as in bankml.library.search.words; it takes `Terms.values`.
SCORE: LiteralString = """(
    SELECT coalesce(sum(idf * tf * (%(k1)s + 1) / (tf + %(k1)s * (1 - %(b)s + %(b)s * p.length / %(mean)s))), 0)
    FROM unnest(%(terms)s::tsquery[], %(idfs)s::float8[]) AS asked (term, idf),
        LATERAL (
            SELECT width_bucket(ts_rank(%(weights)s::float4[], p.words, term), %(steps)s::float4[])::float8 AS tf
        ) AS held
)"""


@dataclass(frozen=True)
class Terms:
    """`used`: those of a query that are looked for, with the number of passages that hold each; rarest first.

    `unknown`: how many of its terms no passage holds. `total`: passages of the stores, `mean`: terms of one.
    """

    used: dict[str, int]
    unknown: int
    total: int
    mean: float

    @classmethod
    def read(cls, connection: Connection, query: str, stores: Sequence[int]) -> "Terms":
        """As in the local search, the commonest are left out where they cost much."""
        wanted = list(dict.fromkeys(tokens(query[:CHARS])))[:TERMS]
        named = {lexemes.lexeme(term): term for term in wanted}
        row = connection.execute(COUNTS, (list(stores),)).fetchone()
        total, length = (int(row[0]), int(row[1])) if row else (0, 0)
        rows = connection.execute(FREQUENCIES, (list(named), list(stores)))
        counted = {named[term]: int(passages) for term, passages in rows}
        rarest = sorted((term for term in wanted if term in counted), key=lambda term: counted[term])
        used = first(rarest, counted, max(FEW, READ * total))
        return cls(
            {term: counted[term] for term in used}, len(wanted) - len(counted), total, max(1, length) / max(1, total)
        )

    def idf(self, held: int) -> float:
        """Of a term that so many passages hold."""
        return log1p((self.total - held + 0.5) / (held + 0.5))

    @property
    def marks(self) -> frozenset[str]:
        """Those that few passages hold, else all that any holds."""
        most = max(self.total / RARE, FEW_MARKED)
        return frozenset(term for term, held in self.used.items() if held < most) or frozenset(self.used)

    @property
    def values(self) -> dict[str, Any]:
        """The parameters of `SCORE`."""
        return {
            "terms": [lexemes.query(term) for term in self.used],
            "idfs": [self.idf(held) for held in self.used.values()],
            "weights": ranks.WEIGHTS,
            "steps": ranks.STEPS,
            "k1": K1,
            "b": B,
            "mean": self.mean,
        }


def first(rarest: Sequence[str], counted: dict[str, int], most: float) -> list[str]:
    """The first terms whose passages are at most so many in all; one in any case."""
    kept, seen = list[str](), 0
    for term in rarest:
        seen += counted[term]
        if kept and seen > most:
            break
        kept.append(term)
    return kept
