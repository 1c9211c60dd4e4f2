"""The rows of a matrix that are nearest to a query, exactly: every row is read, in the engine, without the GIL."""

import os
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from bankml import _engine
from bankml.errors import InputError
from bankml.settings import Settings

Matrix = NDArray[np.float32] | NDArray[np.float16] | NDArray[np.int8]

CHUNK = 4096  # rows that are quantised at once: 16 MB of 1,024 floats


def nearest(
    matrix: Matrix,
    query: NDArray[np.float32],
    k: int,
    *,
    scales: NDArray[np.float32] | None = None,
    allowed: NDArray[np.bool_] | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The numbers of the k rows (m,) of the largest cosines, best first and equal ones by number, and these (m,).

    `matrix` (n, dims) is C-contiguous float32, float16, or int8 with `scales` (n,) from `quantized`; it may be a mapped
    file. Rows and `query` (dims,) are of unit length: a cosine is their product. Only rows whose `allowed` (n,) is true
    count; m is k, or as many as there are. Nothing is copied, and no call waits for an encoder.

    Raises InputError for arrays that do not fit, and for a row (the first is named) or a query that is not finite;
    StoreError when the mapped file is truncated meanwhile.
    """
    settings = _settings()
    return _engine.nearest(matrix, query, k, scales, allowed, settings.backend, settings.threads)


def cosines(
    matrix: Matrix,
    rows: NDArray[np.integer] | Sequence[int],
    query: NDArray[np.float32],
    *,
    scales: NDArray[np.float32] | None = None,
) -> NDArray[np.float32]:
    """The cosines (m,) of certain rows (m,), to the bit what `nearest` gives for them; raises as it does."""
    return _engine.cosines(matrix, rows, query, scales, _settings().backend)


def quantized(matrix: NDArray[np.floating]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Rows (n, dims) of floats → int8 (n, dims) and scales (n,): a value is its integer times its row's scale.

    The largest value of a row becomes ±127; a row whose values are all below 1.5e-36 becomes zeros with the scale 0.
    Raises InputError for a row that is not finite.
    """
    if matrix.ndim != 2 or matrix.dtype.kind != "f":
        raise InputError(f"the matrix is {matrix.dtype} of shape {matrix.shape}; give floats of shape (n, dims)")
    integers = np.empty(matrix.shape, np.int8)
    scales = np.empty(len(matrix), np.float32)
    for start in range(0, len(matrix), CHUNK):
        part = slice(start, start + CHUNK)
        integers[part], scales[part] = _quantized(matrix[part].astype(np.float32), start)
    return integers, scales


def _settings() -> Settings:
    return _settings_of(*map(os.environ.get, ("BANKML_BACKEND", "BANKML_THREADS")))


@lru_cache(maxsize=8)
def _settings_of(*_values: str | None) -> Settings:
    """Read anew when a variable changed: reading takes 0.2 ms, as long as a search of 2,000 rows."""
    return Settings.read()


def _quantized(rows: NDArray[np.float32], first: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Whole numbers and scales of rows `first` and following of a matrix."""
    largest = np.abs(rows).max(axis=1, initial=0)
    broken = np.flatnonzero(~np.isfinite(largest))
    if len(broken):
        raise InputError(f"row {first + broken[0]} of the matrix is not finite; leave it out or write it anew")
    scales = largest / np.float32(127)
    scales[scales < np.finfo(np.float32).tiny] = 0  # of a denormal scale a value can be more than 127 times it
    return np.rint(rows / np.where(scales > 0, scales, np.float32(1))[:, None]), scales
