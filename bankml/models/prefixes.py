"""What a model wants before a text: families were trained with words that tell a query from a passage.

A missing prefix costs up to 0.04 MRR and no score shows it. Each is as the model's own card gives it; a family that is
not listed wants none, as bge-m3, MiniLM and granite.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Prefixes:
    """Put before a document, and before a query, as they stand."""

    document: str = ""
    query: str = ""


@dataclass(frozen=True)
class Override:
    """What a user wants instead of the family's prefixes; None leaves one as it is."""

    document: str | None = None
    query: str | None = None

    def over(self, family: Prefixes) -> Prefixes:
        """The prefixes that count."""
        return Prefixes(
            family.document if self.document is None else self.document,
            family.query if self.query is None else self.query,
        )


NONE = Prefixes()
_REPRESENT = Prefixes(query="Represent this sentence for searching relevant passages: ")
_INSTRUCT = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"

# The first that is found in a name counts; names are lower case, with - for spaces, _ and /.
_FAMILIES = (
    (r"\be5\b.*\binstruct\b", Prefixes(query=f"{_INSTRUCT} ")),
    (r"\be5\b", Prefixes("passage: ", "query: ")),
    (r"\barctic-embed(2|\b.*\bv2\b)", Prefixes(query="query: ")),
    (r"\barctic-embed\b", _REPRESENT),
    (r"\bnomic-embed-text\b|\bmodernbert-embed\b", Prefixes("search_document: ", "search_query: ")),
    (r"\bbge-(small|base|large)-zh\b", Prefixes(query="为这个句子生成表示以用于检索相关文章：")),  # noqa: RUF001
    (r"\bbge-(small|base|large)\b", _REPRESENT),
    (r"\bmxbai-embed\b", _REPRESENT),
    (r"\bqwen3-embedding\b", Prefixes(query=_INSTRUCT)),
    (r"\bembeddinggemma\b", Prefixes("title: none | text: ", "task: search result | query: ")),
)


def of(*names: str) -> Prefixes:
    """Of the model that goes by these names: the first that belongs to a known family decides."""
    spelled = [re.sub(r"[\s_/]+", "-", name.casefold()) for name in names]
    return next((found for name in spelled for family, found in _FAMILIES if re.search(family, name)), NONE)
