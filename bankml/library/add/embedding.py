"""Texts of chunks to vectors, in calls that fill the engine's passes and can be interrupted in a moment."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from time import monotonic

from bankml.embedders.embedder import Cancelled, Embedder
from bankml.errors import NotFiniteError, UnavailableError
from bankml.library.add.lacking import Text

FIRST = 4096  # tokens of the first call: four of the engine's passes
LEAST, MOST = 1024, 32_768  # one pass, and 32 of them
SECONDS = 1.5  # of a call: so often progress is shown and documents are stored

Part = list[tuple[str, Text]]


class Embedding:
    """An embedder as the pipeline uses it. `embedder` is None once it cannot go on, and `why` says why."""

    def __init__(self, embedder: Embedder | None, cancelled: Cancelled | None = None) -> None:
        self.embedder = embedder
        self.why = ""
        self.tokens_of_a_call = FIRST
        self._cancelled = cancelled

    def vectors(self, texts: Mapping[str, Text], done: Callable[[int, int], None]) -> dict[str, bytes]:
        """By key, float32 little-endian; a text that the model cannot embed has none.

        `done(texts, tokens)` is called after each call of the engine. Raises CancelledError.
        """
        found: dict[str, bytes] = {}
        for part in self._parts(texts):
            if self.embedder is None:
                break
            begun = monotonic()
            made = self._embedded(self.embedder, part)
            found.update(made)
            tokens = sum(text.tokens for key, text in part if key in made)
            self._adapt(tokens, monotonic() - begun)
            done(len(made), tokens)
        return found

    def _parts(self, texts: Mapping[str, Text]) -> Iterator[Part]:
        part: Part = []
        tokens = 0
        for item in texts.items():
            part.append(item)
            tokens += item[1].tokens
            if tokens >= self.tokens_of_a_call:
                yield part
                part, tokens = [], 0
        if part:
            yield part

    def _embedded(self, embedder: Embedder, part: Part) -> dict[str, bytes]:
        try:
            rows = embedder.embed([text.embedded for _, text in part], cancelled=self._cancelled)
        except NotFiniteError as error:
            self.why = self.why or str(error)
            return self._without(embedder, part, error.indexes)
        except UnavailableError as error:
            self.why, self.embedder = str(error), None
            return {}
        return {key: row.astype("<f4").tobytes() for (key, _), row in zip(part, rows, strict=True)}

    def _without(self, embedder: Embedder, part: Part, bad: Sequence[int]) -> dict[str, bytes]:
        """The vectors of a part in which these texts have none; where that is not known, it is found out."""
        if bad:
            left = [item for at, item in enumerate(part) if at not in bad]
            return self._embedded(embedder, left) if left else {}
        if len(part) == 1:
            return {}
        middle = len(part) // 2
        return self._embedded(embedder, part[:middle]) | self._embedded(embedder, part[middle:])

    def _adapt(self, tokens: int, seconds: float) -> None:
        if tokens >= LEAST // 2:
            self.tokens_of_a_call = int(min(MOST, max(LEAST, tokens / seconds * SECONDS)))
