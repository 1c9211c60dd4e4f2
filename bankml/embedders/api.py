"""What is asked of an Ollama, with what it answers checked."""

from collections.abc import Sequence
from typing import Any

import msgspec
import orjson

from bankml.embedders.embedder import Cancelled
from bankml.embedders.exchange import Answer, Exchange
from bankml.errors import NotFiniteError, UnavailableError
from bankml.utf8 import printable, whole

START, TEXT = 120.0, 60.0  # seconds: to load a model, and for a text (57 were seen for 500 words on two old cores)
ASKED = 3.0  # seconds for what Ollama knows
SMALL = 4 << 20  # bytes of an answer without vectors
NUMBER, WIDEST = 32, 16_384  # bytes of a number as JSON, numbers of a vector, at most


class Embedded(msgspec.Struct):
    """What is read of an answer of /api/embed."""

    embeddings: list[list[float]]


class Api:
    """An Ollama at `url`. Everything raises UnavailableError, with what it was that came instead of an answer."""

    def __init__(self, url: str) -> None:
        self.url = url

    def embed(
        self, model: str, texts: Sequence[str], keep_alive: str, cancelled: Cancelled | None
    ) -> list[list[float]]:
        """The rows as they came. Raises NotFiniteError, with the `index` if there is one text, and CancelledError."""
        body = {"model": model, "input": whole(list(texts)), "keep_alive": keep_alive, "truncate": True}
        limit = SMALL + len(texts) * NUMBER * WIDEST
        seconds = START + TEXT * len(texts)
        answer = Exchange(self.url, "/api/embed", seconds, limit, orjson.dumps(body)).run(cancelled)
        if answer.status != 200:
            raise self._refusal(answer, model, len(texts))
        try:
            return msgspec.json.decode(answer.body, type=Embedded).embeddings
        except (msgspec.DecodeError, RecursionError) as error:
            raise UnavailableError(f"the Ollama at {self.url} answered what is no list of vectors ({error})") from None

    def version(self) -> str:
        """Of the program; "" where it does not say. Not a ground to refuse it: what speaks as Ollama counts its own."""
        return printable(str(self._object("/api/version").get("version", ""))[:40])

    def loaded(self, model: str, seconds: float = ASKED) -> dict[str, Any] | None:
        """Its row in the list of models in memory."""
        return _row(self._object("/api/ps", seconds), model)

    def listed(self, model: str, seconds: float = ASKED) -> dict[str, Any] | None:
        """Its row in the list of all models."""
        return _row(self._object("/api/tags", seconds), model)

    def shown(self, model: str, seconds: float = ASKED) -> dict[str, Any]:
        """What Ollama tells of the model; empty where it does not know it."""
        return self._object("/api/show", seconds, orjson.dumps({"model": model}))

    def _object(self, path: str, seconds: float = ASKED, content: bytes | None = None) -> dict[str, Any]:
        """Empty where something else is answered: none of these is needed to embed."""
        answer = Exchange(self.url, path, seconds, SMALL, content).run()
        found = _json(answer.body) if answer.status == 200 else None
        return found if isinstance(found, dict) else {}

    def _refusal(self, answer: Answer, model: str, texts: int) -> Exception:
        said = _json(answer.body)
        sentence = said.get("error") if isinstance(said, dict) else None
        if not isinstance(sentence, str):
            older = "; /api/embed needs Ollama 0.3.4 or newer" if answer.status == 404 else ""
            return UnavailableError(f"the Ollama at {self.url} answered with {_shown(answer)}{older}")
        if "NaN" in sentence:
            return NotFiniteError(f"{model} of Ollama gave no finite vector", index=0 if texts == 1 else None)
        remedy = f": run `ollama pull {model}`" if answer.status == 404 else ""
        return UnavailableError(f"Ollama refused ({printable(sentence[:300])}){remedy}")


def _row(answer: dict[str, Any], model: str) -> dict[str, Any] | None:
    rows = answer.get("models")
    found = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    return next((row for row in found if str(row.get("name")).casefold() == model.casefold()), None)


def _json(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except ValueError:
        return None


def _shown(answer: Answer) -> str:
    start = " ".join(printable(answer.body[:60].decode("utf-8", "replace")).split())
    return f"status {answer.status}" + (f" and {start!r}" if start else "")
