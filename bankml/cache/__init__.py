"""Vectors by the sha256 of their text: <history>.emb, as the original keeps it, and a matrix of them to search."""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bankml.cache.compaction import Compacted, Contents, Keep, compact, contents
from bankml.cache.line import KEY, MOST_DIMS, is_unit, written
from bankml.cache.table import Weights
from bankml.cache.vectors import Vectors
from bankml.errors import InputError
from bankml.private_file import append
from bankml.utf8 import whole

__all__ = ["Cache", "Compacted", "Contents", "Vectors", "key"]


def key(text: str) -> str:
    """sha256 of the text's UTF-8, hex; a lone surrogate counts as U+FFFD, which is what is embedded for it."""
    return hashlib.sha256(whole(text).encode()).hexdigest()


class Cache:
    """An .emb file, which need not exist yet. Any number of processes may read and append at once."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def append(
        self, model: str, digest: str, keys: Sequence[str], vectors: NDArray[np.float32], engine: str | None = None
    ) -> None:
        """Writes a line for each key and row of `vectors`, float32 (n, dims) of unit length; they are on the disk then.

        Raises InputError for what no reader would take, StoreError for what cannot be written: a part of the lines may
        be there then, each of them whole, and all that was there before.
        """
        _check(digest, keys, vectors)
        pairs = zip(keys, vectors, strict=True)
        if text := b"".join(written(key, model, digest, vector, engine) for key, vector in pairs):
            append(self.path, text)

    def vectors(self, digest: str, dims: int) -> Vectors:
        """Those that these weights made, and what is appended later. StoreError for what is no readable file."""
        return Vectors(self.path, _weights(digest, dims))

    def verify(self) -> Contents:
        """Reads every line. StoreError for what is no readable file."""
        return contents(self.path)

    def compact(self, digest: str, dims: int, keep: Keep | None = None) -> Compacted:
        """Removes other weights' lines, repeated and bad ones, and those whose key is not in `keep()`, at one stroke.

        `keep` is called while nobody can append, so that what it reads knows every text that has a vector by then.
        Raises StoreError when the file cannot be replaced, which then is as it was; whatever `keep` raises, too.
        """
        return compact(self.path, _weights(digest, dims), keep)


def _weights(digest: str, dims: int) -> Weights:
    if not KEY.fullmatch(digest):
        raise InputError(f"{digest!r} is no digest of weights: give their sha256, 64 hex digits without a prefix")
    if not 0 < dims <= MOST_DIMS:
        raise InputError(f"vectors have 1 to {MOST_DIMS:,} dimensions, not {dims}")
    return Weights(digest, dims)


def _check(digest: str, keys: Sequence[str], vectors: NDArray[np.float32]) -> None:
    if vectors.ndim != 2 or vectors.dtype != np.float32 or len(vectors) != len(keys):
        raise InputError(
            f"{len(keys)} keys need float32 vectors of shape ({len(keys)}, dims), not {vectors.dtype} {vectors.shape}"
        )
    _weights(digest, vectors.shape[1])
    for index, (key, vector) in enumerate(zip(keys, vectors, strict=True)):
        if not KEY.fullmatch(key):
            raise InputError(f"{key!r} is no key: give the sha256 of the text, 64 hex digits", index=index)
        if not is_unit(vector):
            raise InputError(
                f"vector {index} has the length {np.linalg.norm(vector):g}: divide it by that first", index=index
            )
