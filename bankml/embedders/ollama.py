"""A local Ollama as an embedder, for models that the engine does not run, or when it is asked for."""

from collections.abc import Sequence
from typing import Any

from bankml.available import available
from bankml.durations import spelled
from bankml.embedders.api import Api
from bankml.embedders.embedder import Cancelled, Vectors
from bankml.embedders.identity import Identity
from bankml.embedders.turn import Turn
from bankml.embedders.vectors import checked, listed
from bankml.encoder import BGE_M3_DIMS
from bankml.errors import NotFiniteError, ShortError, UnavailableError
from bankml.models import ollama_store
from bankml.models.licence import Licence
from bankml.models.ollama_store import OllamaModel
from bankml.models.pinned import BGE_M3
from bankml.ollama_address import is_loopback
from bankml.room import Measure, short
from bankml.settings import Settings

NEED = 1_300_000_000  # bytes: bge-m3 took 1.14 GB of it
GLANCE = 0.1  # seconds that a status waits for Ollama; the next one asks again


class OllamaEmbedder:
    """A model of Ollama's store on this machine, run by the Ollama that BANKML_OLLAMA names."""

    provider = "ollama"

    def __init__(self, model: OllamaModel, settings: Settings, measure: Measure = available) -> None:
        self._name = str(model.name)
        self._identity = Identity.of_ollama(model)
        self._dims = BGE_M3_DIMS if self._identity.model == BGE_M3.name else self._identity.dims
        self._api = Api(settings.ollama)
        self._keep_alive = spelled(settings.embed_keep_alive)
        self._need = NEED if settings.embed_need is None else settings.embed_need
        self._measure = measure
        self._version = ""
        self._turn = Turn()

    @property
    def model(self) -> str:
        """As in Embedder, and so are the others."""
        return self._identity.model

    @property
    def digest(self) -> str:
        return self._identity.digest

    @property
    def dims(self) -> int:
        """0 where the file does not say it and nothing was embedded yet."""
        return self._dims

    @property
    def engine(self) -> str:
        return f"ollama {self._version}".strip()

    @property
    def licence(self) -> Licence:
        return self._identity.licence

    @property
    def document_prefix(self) -> str:
        return self._identity.prefixes.document

    @property
    def query_prefix(self) -> str:
        return self._identity.prefixes.query

    @property
    def loaded(self) -> bool:
        try:
            return self._api.is_loaded(self._name, GLANCE)
        except UnavailableError:
            return False

    def embed(
        self, texts: Sequence[str], *, query: bool = False, block: bool = True, cancelled: Cancelled | None = None
    ) -> Vectors:
        """As in Embedder."""
        whole = listed(texts, self.query_prefix if query else self.document_prefix)
        with self._turn.taken(block, cancelled):
            if whole:
                self._ready()
            rows = self._rows(whole, cancelled) if whole else []
            vectors = checked(rows, len(whole), self._dims or max(map(len, rows), default=0), f"{self.model} of Ollama")
            self._dims = vectors.shape[1]
            return vectors

    def status(self) -> dict[str, Any]:
        """As in Embedder."""
        facts = {"provider": self.provider, **self._identity.facts(), "dims": self._dims}
        if not is_loopback(self._api.url):
            facts["notes"] = [*facts["notes"], _leaves(self._api.url)]
        try:
            loaded = self._api.is_loaded(self._name, GLANCE)
        except UnavailableError as error:
            return facts | {"loaded": False, "ready": False, "why": str(error)}
        lack = None if loaded else self._short()
        return facts | {"loaded": loaded, "ready": lack is None, "why": str(lack or "")}

    def close(self) -> None:
        """Ollama lets go of the model by itself."""

    def _ready(self) -> None:
        if not self._version:
            self._version = self._api.version()
        if not self._api.is_loaded(self._name) and (lack := self._short()):
            raise UnavailableError(str(lack))

    def _rows(self, texts: list[str], cancelled: Cancelled | None) -> list[list[float]]:
        """Ollama does not say which of several texts has no vector: each is asked for alone then."""
        try:
            return self._api.embed(self._name, texts, self._keep_alive, cancelled)
        except NotFiniteError as error:
            if error.index is not None:
                raise
        rows = []
        for index, text in enumerate(texts):
            try:
                rows += self._api.embed(self._name, [text], self._keep_alive, cancelled)
            except NotFiniteError as error:
                raise NotFiniteError(str(error), index=index) from None
        return rows

    def _short(self) -> ShortError | None:
        """Of this machine's memory; another's is not known."""
        here = is_loopback(self._api.url)
        return short(self.model, self._need, self._measure) if here else None


def of_ollama(settings: Settings, name: str | None = None) -> OllamaEmbedder:
    """The embedder of a model of Ollama's store; None: BANKML_EMBED_MODEL, else bge-m3. Raises Error."""
    wanted = name or settings.embed_model or BGE_M3.name
    model = ollama_store.find(wanted, settings)
    if model is None:
        closed = "".join(f"; {root} may not be read by this user" for root in ollama_store.unreadable(settings))
        raise UnavailableError(
            f"{wanted} is not in a store of Ollama that can be read here, and its weights are known by their digest "
            f"there: run `ollama pull {wanted}`, or set OLLAMA_MODELS to the store{closed}"
        )
    return OllamaEmbedder(model, settings)


def _leaves(url: str) -> str:
    return f"the Ollama at {url} is not on this machine: what is embedded is sent there"
