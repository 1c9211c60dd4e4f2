"""What every provider's vectors must be before anybody sees them."""

from collections.abc import Iterable, Sequence

import numpy as np

from bankml.embedders.embedder import Floats
from bankml.errors import InputError, NotFiniteError, UnavailableError


def listed(texts: Iterable[str], prefix: str) -> list[str]:
    """The texts, each behind the prefix. Raises InputError for what is no list of str."""
    if isinstance(texts, str | bytes):
        raise InputError(f"texts is one {type(texts).__name__}; pass a list: [text]")
    found = list(texts)
    for index, text in enumerate(found):
        if not isinstance(text, str):
            raise InputError(f"text {index} is of type {type(text).__name__}; every text must be a str", index=index)
    return [prefix + text for text in found]


def checked(rows: Sequence[Sequence[float]] | Floats, texts: int, dims: int, who: str) -> Floats:
    """The rows as float32 (texts, dims) of unit length.

    Raises UnavailableError for another number of rows or of dimensions, NotFiniteError with the `indexes` of the
    rows that are not finite or have no direction.
    """
    if len(rows) != texts:
        raise UnavailableError(f"{who} gave {len(rows)} vectors for {texts} texts; none of them is used")
    for row in rows:
        if len(row) != dims:
            raise UnavailableError(f"{who} gave a vector of {len(row)} dimensions, not {dims}; it is not used")
    exact = np.asarray(rows, np.float64).reshape(texts, dims)
    lengths = np.linalg.norm(exact, axis=1)
    if bad := np.flatnonzero(~(np.isfinite(lengths) & (lengths > 0))).tolist():
        raise NotFiniteError(f"{who} gave no finite vector for text {bad[0]}; leave it out", indexes=bad)
    return np.ascontiguousarray(exact / lengths[:, None], np.float32)
