"""Vectors of queries: the latest are remembered, so that a keystroke with a known text costs nothing."""

import threading
from collections import OrderedDict

from bankml.embedders.embedder import Cancelled, Embedder, Floats

SIZE = 256
MAX_CHARS = 4000  # as of an exchange


class QueryVectors:
    """Of one embedder; safe to use from many threads."""

    def __init__(self, embedder: Embedder, size: int = SIZE) -> None:
        self.embedder = embedder
        self._size = size
        self._lock = threading.Lock()
        self._known: OrderedDict[str, Floats] = OrderedDict()

    def known(self, query: str) -> Floats | None:
        """The vector, float32 (dims,), read-only, where it was asked for before."""
        text = _text(query)
        with self._lock:
            if text in self._known:
                self._known.move_to_end(text)
            return self._known.get(text)

    def vector(self, query: str, block: bool = False, cancelled: Cancelled | None = None) -> Floats:
        """As `known`, embedded when it is new: raises as `Embedder.embed`."""
        if (found := self.known(query)) is not None:
            return found
        text = _text(query)
        vector: Floats = self.embedder.embed([text], query=True, block=block, cancelled=cancelled)[0]
        vector.flags.writeable = False
        with self._lock:
            self._known[text] = vector
            while len(self._known) > self._size:
                self._known.popitem(last=False)
        return vector


def _text(query: str) -> str:
    return query.strip()[:MAX_CHARS]
