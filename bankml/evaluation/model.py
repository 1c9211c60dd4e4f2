"""An embedding model as the evaluation uses it: with its prefixes, and with the vectors it made before."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bankml.cache import Cache, key
from bankml.encoder import Encoder
from bankml.errors import InputError, StoreError
from bankml.models import prefixes
from bankml.models.progress import Progress

BATCH = 16  # texts: a few seconds of work, and what an interrupted run loses


class Model:
    """The vectors of `encoder` for queries and documents. They are kept in `folder`, a file a model.

    Raises InputError for a model that gives a vector a token, StoreError when `folder` cannot be used.
    """

    def __init__(self, encoder: Encoder, folder: Path, progress: Progress) -> None:
        if encoder.pooling == "none":
            raise InputError(f"{encoder.name} gives a vector for each token, not for a text; name another model")
        self.encoder, self.prefixes = encoder, prefixes.of(encoder.name, encoder.path.stem)
        self._progress = progress
        self._cache = Cache(folder / f"{encoder.digest[:16]}.emb")
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"{folder} cannot be made ({error.strerror}): set BANKML_HOME to a folder that you can write"
            ) from None
        self._kept = self._cache.vectors(encoder.digest, encoder.dims)

    def queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """(n, dims), of unit length."""
        return self._vectors(self._asked(texts))

    def documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """(n, dims), of unit length; each from as much of its text as the model takes."""
        return self._vectors(self._told(texts))

    def prepare(self, queries: Sequence[str], documents: Sequence[str]) -> None:
        """Makes the vectors that are not kept yet, all in one progress."""
        self._fill([*self._asked(queries), *self._told(documents)])

    def cut(self, texts: Sequence[str]) -> int:
        """How many documents are longer than the model takes."""
        return int(self.encoder.tokens(self._told(texts)).truncated.sum())

    def _asked(self, texts: Sequence[str]) -> list[str]:
        return [self.prefixes.query + text for text in texts]

    def _told(self, texts: Sequence[str]) -> list[str]:
        return [self.prefixes.document + text for text in texts]

    def _vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self._fill(texts)
        known = self._kept
        return np.ascontiguousarray(known.matrix[known.rows(map(key, texts))])

    def _fill(self, texts: Sequence[str]) -> None:
        encoder = self.encoder
        missing = [(one, text) for one, text in {key(text): text for text in texts}.items() if one not in self._kept]
        for start in range(0, len(missing), BATCH):
            self._progress(f"embedding with {encoder.name}", start, len(missing))
            keys, batch = zip(*missing[start : start + BATCH], strict=True)
            self._cache.append(encoder.name, encoder.digest, keys, encoder.encode(batch), encoder.backend)
        self._kept.follow()
