"""What a query quotes: terms that stand in a record as they do in the query, one behind the other.

One vector of many sentences is little like one of them, so that by meaning others may come before the very text.
"""

import re
from dataclasses import dataclass

from bankml.memory.recall.identifiers import CHARS
from bankml.terms import tokens

WHOLE = 4  # terms of a query that may be a quote by itself: fewer stand together by chance
MARKED = 2  # terms between quotation marks
CUT = 7  # terms of which the first and the last may be parts of words
MOST = 8  # quotes of a query

BETWEEN = re.compile(
    '"([^"]+)"|\u201c([^\u201d]+)\u201d|\u201e([^\u201c\u201d]+)[\u201c\u201d]|\u00ab([^\u00bb]+)\u00bb'
)


@dataclass(frozen=True, slots=True)
class Quotes:
    """Each as terms between spaces."""

    phrases: tuple[str, ...] = ()

    @classmethod
    def of(cls, query: str) -> "Quotes":
        """The whole query, and each part between quotation marks."""
        query = query[:CHARS]
        marked = [tokens("".join(found.groups(""))) for found in BETWEEN.finditer(query)]
        whole = tokens(query)
        whole = whole[1:-1] if len(whole) >= CUT else whole
        phrases = [terms for terms in marked[:MOST] if len(terms) >= MARKED] + [whole] * (len(whole) >= WHOLE)
        return cls(tuple(f" {' '.join(terms)} " for terms in phrases))

    def stand_in(self, text: str) -> bool:
        """Whether any of them does."""
        if not self.phrases:
            return False
        held = f" {' '.join(tokens(text))} "
        return any(phrase in held for phrase in self.phrases)
