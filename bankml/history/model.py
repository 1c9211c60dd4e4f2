"""The model that ranks by meaning: looked for without making anybody wait, and again while it is not there."""

import threading
from collections.abc import Callable
from time import monotonic

from bankml.embedders.embedder import Embedder
from bankml.errors import Error

PATIENCE = 5.0  # seconds between two looks


class Model:
    """`choose` gives the embedder, or raises the reason why there is none."""

    def __init__(self, choose: Callable[[], Embedder]) -> None:
        self._choose = choose
        self._lock = threading.Lock()
        self._looking: threading.Thread | None = None
        self._looked = float("-inf")
        self.embedder: Embedder | None = None
        self.why = "the model is being looked for"

    def look(self, wait: float | None) -> Embedder | None:
        """The embedder, waited for so many seconds (None: until it is known whether there is one); None: see `why`."""
        with self._lock:
            if self.embedder is None and self._looking is None and monotonic() - self._looked >= PATIENCE:
                self._begin()
            looking = self._looking
        if looking:
            looking.join(wait and min(wait, threading.TIMEOUT_MAX))
        return self.embedder

    @property
    def looking(self) -> bool:
        """Whether it may be known in a moment."""
        return self._looking is not None

    def _begin(self) -> None:
        thread = threading.Thread(target=self._look, name="model", daemon=True)
        self._looking = thread
        try:
            thread.start()
        except RuntimeError as error:  # the system refuses one
            self._looked, self._looking = monotonic(), None
            self.why = f"the model cannot be looked for ({error})"

    def _look(self) -> None:
        try:
            found = self._choose()
            _ = found.digest, found.dims  # the file may have to be read for its digest
            self.embedder = found
        except Error as error:
            self.why = str(error)
        except Exception as error:
            self.why = f"{type(error).__name__}: {error}"
        finally:
            self._looked, self._looking = monotonic(), None
