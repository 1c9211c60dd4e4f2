"""What a GGUF file says of itself: metadata and tensor list, read once until the file changes; no weights."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from bankml.errors import ModelError


@dataclass(frozen=True)
class Header:
    """An array of more than 64 elements is given as None in `metadata`."""

    metadata: dict[str, Any]
    tensors: list[dict[str, Any]]  # name, type, shape (fastest-varying first), bytes
    size: int  # bytes of the file
    changed: float  # seconds since the epoch

    @property
    def arch(self) -> str:
        """The architecture; "" when the file does not say."""
        return str(self.metadata.get("general.architecture", ""))


def read(path: Path) -> Header:
    """The header of the file. Raises ModelError when it is not there or damaged."""
    try:
        status = path.stat()
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}") from None
    return _read(path, status.st_size, status.st_mtime_ns)


def whole_metadata(path: Path) -> dict[str, Any]:
    """Every key of the file with every element of its arrays, read anew. Raises ModelError when it is damaged."""
    from bankml._engine import GGUF

    return GGUF(path).whole_metadata


@lru_cache(maxsize=64)
def _read(path: Path, size: int, changed: int) -> Header:
    from bankml._engine import GGUF

    gguf = GGUF(path)
    return Header(gguf.metadata, gguf.tensors, size, changed / 1e9)
