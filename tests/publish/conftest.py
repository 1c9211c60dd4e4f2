"""Histories, and vectors that need no model."""

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bankml.models.licence import Licence

DIMS = 8


class Seeded:
    """A unit vector for each exchange, drawn from the digest of its text."""

    model = "seeded-8"
    digest = "ab" * 32

    def __init__(self, dims: int = DIMS, licence: Licence | None = None, without: frozenset[str] = frozenset()) -> None:
        self.dims = dims
        self.licence = licence or Licence("MIT", True)
        self.without = without  # users' texts that have no vector yet
        self.asked = 0

    def complete(self, progress: object) -> str:
        return f"{len(self.without)} cannot be embedded" if self.without else ""

    def of(self, record: Mapping[str, Any]) -> np.ndarray | None:
        self.asked += 1
        text = f"{record.get('user')}\n{record.get('assistant')}"
        if record.get("user") in self.without:
            return None
        seed = int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "big")
        vector = np.random.default_rng(seed).standard_normal(self.dims).astype(np.float32)
        return vector / np.linalg.norm(vector)


@pytest.fixture
def seeded() -> type[Seeded]:
    return Seeded


@pytest.fixture
def history(tmp_path: Path) -> Callable[..., Path]:
    """Writes a .history of exchanges, given as (user, assistant) or as whole lines."""

    def write(*exchanges: tuple[str, str] | bytes, name: str = "ada.history") -> Path:
        path = tmp_path / name
        path.write_bytes(b"".join(line(exchange) + b"\n" for exchange in exchanges))
        return path

    return write


def line(exchange: tuple[str, str] | bytes) -> bytes:
    if isinstance(exchange, bytes):
        return exchange
    return json.dumps({"user": exchange[0], "assistant": exchange[1]}, ensure_ascii=False).encode()
