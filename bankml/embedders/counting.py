"""What an embedder can say of the length of texts before it embeds them."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable


@runtime_checkable
class Counting(Protocol):
    """An embedder that has the model's tokenizer in this process. Both raise UnavailableError."""

    @property
    def context_length(self) -> int:
        """Tokens that the model reads of a text."""
        ...

    def count(self, texts: Sequence[str]) -> Sequence[int]:
        """Tokens of each text as a document, however long: behind the document prefix, special ones included."""
        ...
