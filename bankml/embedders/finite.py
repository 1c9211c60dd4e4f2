"""Vectors of the texts that have one."""

from collections.abc import Callable

from bankml.embedders.embedder import Cancelled, Embedder, Floats
from bankml.errors import NotFiniteError


def finite(
    embedder: Embedder, texts: dict[str, str], failed: Callable[[str], object], cancelled: Cancelled | None = None
) -> Floats:
    """Of `texts`, by key: float32 (n, dims). Those that have none leave it, and `failed` is told the key of each.

    Raises NotFiniteError where it is not known whose fault it is, and as `Embedder.embed`.
    """
    while True:
        try:
            return embedder.embed(list(texts.values()), cancelled=cancelled)
        except NotFiniteError as error:
            if not error.indexes:
                raise
            for key in [list(texts)[index] for index in error.indexes]:
                del texts[key]
                failed(key)
