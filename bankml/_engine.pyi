"""The native engine, as the Python layer sees it."""

import os
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bankml.errors import InputError as InputError
from bankml.errors import ModelError as ModelError

NUMERICS: int
"""Raised when a release changes vectors by more than backends differ by: stored ones are then another recipe's."""

def backends() -> list[str]:
    """Names of the backends this CPU and OS allow, best first."""

def default_threads() -> int:
    """One per usable physical core: affinity, cgroup quota and SMT siblings counted."""

def dequantize(type: int, blocks: bytes) -> NDArray[np.float32]:
    """Whole blocks of a ggml tensor type, by its id → float32 values. InputError for a type bankml does not run."""

def shorten(rows: NDArray[np.float32], dims: int, normalize: bool = True) -> NDArray[np.float32]:
    """The first `dims` components of rows (n, hidden), of unit length, to the bit as `encode` gives them."""

def nearest(
    matrix: NDArray[np.float32] | NDArray[np.float16] | NDArray[np.int8],
    query: NDArray[np.float32],
    k: int,
    scales: NDArray[np.float32] | None = None,
    allowed: NDArray[np.bool_] | None = None,
    backend: str = "",
    threads: int = 0,
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Rows (m,) and their cosines (m,) as bankml.nearest gives them, by a certain backend and number of threads."""

def cosines(
    matrix: NDArray[np.float32] | NDArray[np.float16] | NDArray[np.int8],
    rows: NDArray[np.integer] | Sequence[int],
    query: NDArray[np.float32],
    scales: NDArray[np.float32] | None = None,
    backend: str = "",
) -> NDArray[np.float32]:
    """Cosines of certain rows (m,), to the bit as `nearest` gives them."""

class GGUF:
    """A checked GGUF file, without a model: metadata and tensor list (no weights are read)."""

    def __init__(self, path: str | bytes | os.PathLike[str]) -> None: ...
    @property
    def metadata(self) -> dict[str, Any]:
        """Every key in file order. Arrays longer than 64 elements are given as None."""
    @property
    def whole_metadata(self) -> dict[str, Any]:
        """The same with every element of every array: a vocabulary is hundreds of thousands of Python objects."""
    @property
    def tensors(self) -> list[dict[str, Any]]:
        """`{"name", "type", "shape", "bytes"}` in file order; shape fastest-varying first."""

class Engine:
    def __init__(
        self,
        path: str | bytes | os.PathLike[str],
        threads: int = 0,
        backend: str = "",
        gelu: Literal["erf", "tanh"] = "erf",
        pooling: Literal["", "none", "mean", "cls", "last"] = "",
        pass_tokens: int = 1024,
    ) -> None: ...
    @property
    def arch(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def dims(self) -> int: ...
    @property
    def layers(self) -> int: ...
    @property
    def heads(self) -> int: ...
    @property
    def ffn(self) -> int: ...
    @property
    def vocabulary_size(self) -> int: ...
    @property
    def context_length(self) -> int: ...
    @property
    def pooling(self) -> str: ...
    @property
    def backend(self) -> str: ...
    @property
    def threads(self) -> int: ...
    @property
    def warnings(self) -> list[str]: ...
    @property
    def metadata(self) -> dict[str, Any]: ...
    @property
    def tensors(self) -> list[dict[str, Any]]: ...
    def tokenize(self, text: str, parse_special: bool = False, limit: int = 0) -> tuple[list[int], bool]:
        """Ids with the special tokens, and whether the text was cut at `limit` (0: never cut)."""
    def tokenize_all(
        self,
        texts: Sequence[str],
        truncate: bool = True,
        max_tokens: int = 0,
        whole: bool = False,
        cancelled: Callable[[], bool] | None = None,
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.bool_]]:
        """What `encode` would encode: ids of all texts, where each starts (n + 1,), truncated (n,). `whole`: uncut."""
    def encode_pass(
        self,
        ids: NDArray[np.int32],
        starts: NDArray[np.int32],
        urgent: bool = False,
        unwanted: Callable[[], Sequence[int]] | None = None,
    ) -> NDArray[np.float32]:
        """Pooled rows (n, dims) of texts from `tokenize_all`, as the model made them, in one pass.

        `unwanted` is asked between layers, at most every 50 ms: the texts nobody waits for, whose rows become zero.
        """
    def piece(self, id: int) -> bytes: ...
    def encode(
        self,
        texts: Sequence[str],
        normalize: bool = True,
        truncate: bool = True,
        dimensions: int = 0,
        max_tokens: int = 0,
        parse_special: bool = False,
        urgent: bool = False,
        cancelled: Callable[[], bool] | None = None,
    ) -> tuple[NDArray[np.float32], NDArray[np.int32], NDArray[np.bool_]]:
        """Vectors (rows, dims), tokens (n,), truncated (n,). Releases the GIL; sees Ctrl-C and `cancelled`."""
    def encode_ids(
        self,
        ids: Sequence[Sequence[int]],
        normalize: bool = True,
        truncate: bool = True,
        dimensions: int = 0,
    ) -> tuple[NDArray[np.float32], NDArray[np.int32], NDArray[np.bool_]]: ...
    def verify_finite(self, progress: Callable[[int, int], None] | None = None) -> None:
        """Reads every weight; raises ModelError naming the first tensor with a value that is not finite."""
    def close(self) -> None:
        """Drops the model; later calls raise InputError. Calls in flight end normally."""
