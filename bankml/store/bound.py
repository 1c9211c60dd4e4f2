"""The model that a store's vectors are of."""

import re
import sqlite3
from dataclasses import dataclass
from typing import Self

from bankml.errors import StoreError
from bankml.store import config


@dataclass(frozen=True, slots=True)
class Bound:
    """`digest`: sha256 of the GGUF file, hex. `fingerprint`: of all that makes a vector, 16 hex digits."""

    model_name: str
    dims: int
    digest: str
    fingerprint: str

    @classmethod
    def read(cls, db: sqlite3.Connection) -> Self | None:
        """None where no model was bound yet. Raises StoreError for what nobody can have recorded."""
        name, dims, digest, fingerprint = (
            config.get(db, key) for key in ("model_name", "embedding_dim", "digest", "fingerprint")
        )
        if not (name and dims and digest and fingerprint):
            return None
        if not re.fullmatch("[1-9][0-9]{0,5}", dims):
            raise StoreError(f"the record of the model is damaged, its embedding_dim is {dims!r}: restore a copy of it")
        return cls(name, int(dims), digest, fingerprint)

    def write(self, db: sqlite3.Connection) -> None:
        """Records it; the vectors are another's business."""
        config.put(db, "model_name", self.model_name)
        config.put(db, "embedding_dim", str(self.dims))
        config.put(db, "digest", self.digest)
        config.put(db, "fingerprint", self.fingerprint)
