"""How chunks were made of a document: where any of it changes, they are made anew."""

from dataclasses import dataclass
from hashlib import sha256
from typing import Self

from bankml.documents.chunking import CHUNKER
from bankml.documents.extract import EXTRACTOR
from bankml.embedders.embedder import Embedder

ESTIMATED = "estimated"
SHOWN = 16  # hex digits


@dataclass(frozen=True, slots=True)
class Recipe:
    """`made`: versions and sizes. `converter`: the one that was asked for. `counted`: whose tokens the sizes are in."""

    made: str
    converter: str
    counted: str

    @classmethod
    def of(cls, embedder: Embedder | None, size: int, overlap: int, converter: str = "") -> Self:
        """Tokens are the model's, behind its document prefix; an estimate where there is no model."""
        made = f"extract {EXTRACTOR}, chunk {CHUNKER}, {size}/{overlap} tokens"
        if embedder is None:
            return cls(made, converter, ESTIMATED)
        whole = f"{embedder.digest}\n{embedder.document_prefix}"
        return cls(made, converter, sha256(whole.encode("utf-8", "replace")).hexdigest()[:SHOWN])

    def serves(self, stored: str) -> bool:
        """Whether chunks of the recipe `stored` may stay.

        Without a model, those that one counted are better; where no converter is asked for, any will do.
        """
        kept, _, counted = stored.rpartition(" of ")
        made, _, converter = kept.partition(" by ")
        same_tokens = self.counted in (counted, ESTIMATED)
        return made == self.made and same_tokens and (not self.converter or self.converter == converter)

    def __str__(self) -> str:
        return f"{self.made}{f' by {self.converter}' if self.converter else ''} of {self.counted}"
