"""The vectors of a history's cache, by the model that embeds histories."""

import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bankml.cache import Cache, key
from bankml.embedders import Embedder, choose, default
from bankml.errors import Error, UnavailableError
from bankml.history import exchange
from bankml.history.indexing import cache_path, index
from bankml.models.licence import Licence
from bankml.publish.vectors import Progress
from bankml.settings import Settings


class Embedded:
    """As in `bankml.publish.vectors.Vectors`."""

    def __init__(self, history: Path, embedder: Embedder, allowed: Collection[str] = ()) -> None:
        self.model: str = embedder.model
        self.digest: str = embedder.digest
        self.dims: int = embedder.dims
        self.licence: Licence = embedder.licence
        self._history, self._embedder, self._allowed = history, embedder, allowed
        self._cached = Cache(cache_path(history)).vectors(self.digest, self.dims)

    def of(self, record: Mapping[str, Any]) -> NDArray[np.float32] | None:
        try:
            found = exchange.of(record, 0)
        except ValueError:
            return None
        row = self._cached.row(key(found.embedded(self._embedder.document_prefix))) if found else None
        return None if row is None else self._cached.matrix[row]

    def complete(self, progress: Progress | None) -> str:
        try:
            index(self._history, self._embedder, progress=progress, allow_licence=self._allowed)
        except Error as error:
            return str(error)
        finally:
            self._cached.follow()
        return ""


def embedded(
    history: str | os.PathLike[str], model: str | None, allowed: Collection[str], settings: Settings | None
) -> Embedded | str:
    """Of the model of this name, else of the default one; a sentence why there are none when it is not to be had."""
    try:
        embedder = choose(settings, model) if model or settings else default.embedder()
        return Embedded(Path(history), embedder, allowed)
    except UnavailableError as error:
        return str(error)
