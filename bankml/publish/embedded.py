"""The vectors that a history's cache has of the model that embeds it."""

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bankml.cache import Cache, key
from bankml.cache import Vectors as Cached
from bankml.embedders import Embedder, choose
from bankml.errors import UnavailableError
from bankml.models.licence import Licence
from bankml.settings import Settings

LONGEST = 4000  # characters of an exchange that are embedded


class Embedded:
    """As in `bankml.publish.vectors.Vectors`."""

    def __init__(self, embedder: Embedder, cached: Cached) -> None:
        self.model: str = embedder.model
        self.digest: str = embedder.digest
        self.dims: int = embedder.dims
        self.licence: Licence = embedder.licence
        self._prefix = embedder.document_prefix
        self._cached = cached

    def of(self, record: Mapping[str, Any]) -> NDArray[np.float32] | None:
        row = self._cached.row(key(self._prefix + text(record)))
        return None if row is None else self._cached.matrix[row]


def text(record: Mapping[str, Any]) -> str:
    """What of an exchange is embedded."""
    user, assistant = (value if isinstance(value := record.get(who), str) else "" for who in ("user", "assistant"))
    return f"{user}\n{assistant}"[:LONGEST]


def embedded(history: str | os.PathLike[str], model: str | None, settings: Settings | None) -> Embedded | str:
    """Of the cache beside the history; a sentence why there are none when no model is to be had."""
    try:
        embedder = choose(settings, model)
        cached = Cache(f"{os.fspath(history)}.emb").vectors(embedder.digest, embedder.dims)
        return Embedded(embedder, cached)
    except UnavailableError as error:
        return str(error)
