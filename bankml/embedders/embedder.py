"""The interface: texts in, unit vectors out, and what must be known of the model that made them."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bankml.models.licence import Licence

Floats = NDArray[np.float32]
Cancelled = Callable[[], bool]


class Embedder(Protocol):
    """A model and who runs it; safe to use from many threads.

    `embed` puts `document_prefix` (or `query_prefix`) before each text by itself. A cache's key is of the whole:
    `key(embedder.document_prefix + text)`, so that no reader mixes the vectors of two recipes.
    """

    @property
    def provider(self) -> str:
        """Who runs it: "native" or "ollama"."""
        ...

    @property
    def model(self) -> str:
        """Its name as people say it: `bge-m3`, without `:latest`."""
        ...

    @property
    def reference(self) -> str:
        """What finds this very model again: its title, its name, or the whole path of its file."""
        ...

    @property
    def digest(self) -> str:
        """sha256 of its GGUF file, 64 hex digits."""
        ...

    @property
    def dims(self) -> int:
        """Length of its vectors."""
        ...

    @property
    def dtype(self) -> str:
        """Of most weights: "F16"; "" where Ollama runs it."""
        ...

    @property
    def pooling(self) -> str:
        """How token vectors become one; "" where Ollama runs it."""
        ...

    @property
    def engine(self) -> str:
        """Which program makes the vectors, for the record kept beside each."""
        ...

    @property
    def licence(self) -> Licence:
        """The model's."""
        ...

    @property
    def document_prefix(self) -> str:
        """What `embed` puts before a document."""
        ...

    @property
    def query_prefix(self) -> str:
        """What `embed` puts before a query."""
        ...

    @property
    def adapted(self) -> bool:
        """Whether a user's own prefixes or pooling replace those that the model has by itself."""
        ...

    @property
    def loaded(self) -> bool:
        """Whether the model is in memory."""
        ...

    def embed(
        self, texts: Sequence[str], *, query: bool = False, block: bool = True, cancelled: Cancelled | None = None
    ) -> Floats:
        """Vectors of the texts: float32 (n, dims), C-contiguous, finite, of unit length; (0, dims) of none.

        One call at a time: another waits, and with `block=False` raises BusyError at once. `cancelled` is asked every
        50 ms or so by the thread that works; CancelledError then. Raises UnavailableError where the model cannot be
        had, NotFiniteError with the `indexes` of texts that have no vector, InputError for what is no list of texts.
        """
        ...

    def status(self) -> dict[str, Any]:
        """provider, model, digest, dims, bytes, licence, open, loaded, ready, why; loads nothing, raises nothing."""
        ...

    def close(self) -> None:
        """Let go of the model. Calls in flight end normally."""
        ...
