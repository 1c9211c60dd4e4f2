"""What publishing asks of the embedding model and its cache."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bankml.models.licence import Licence

Progress = Callable[[int, int], None]  # texts embedded, texts to embed


class Vectors(Protocol):
    """The vectors of a history's exchanges by one model."""

    @property
    def model(self) -> str: ...
    @property
    def digest(self) -> str:
        """Of the model's file: sha256, hexadecimal."""

    @property
    def dims(self) -> int: ...
    @property
    def licence(self) -> Licence: ...

    def of(self, record: Mapping[str, Any]) -> NDArray[np.float32] | None:
        """The (dims,) of unit length of a record that is an exchange; None where it has none yet."""

    def complete(self, progress: Progress | None) -> str:
        """Embeds the exchanges that have none; why not all of them could be, else ""."""
