"""A local Ollama as an embedder, for models that the engine does not run, or when it is asked for."""

import os
import warnings
from collections.abc import Sequence
from typing import Any

from bankml.available import available
from bankml.durations import spelled
from bankml.embedders.api import Api
from bankml.embedders.embedder import Cancelled, Floats
from bankml.embedders.identified import Identified
from bankml.embedders.identity import Identity
from bankml.embedders.turn import Turn
from bankml.embedders.vectors import checked, listed
from bankml.encoder import BGE_M3_DIMS
from bankml.errors import ModelWarning, NotFiniteError, ShortError, UnavailableError
from bankml.models import ollama_store
from bankml.models.ollama_name import OllamaName
from bankml.models.ollama_store import OllamaModel
from bankml.models.pinned import BGE_M3
from bankml.models.prefixes import Override
from bankml.ollama_address import is_loopback
from bankml.room import Measure, short
from bankml.settings import Settings
from bankml.utf8 import printable

NEED = 1_300_000_000  # bytes: bge-m3 took 1.14 GB of it
GLANCE = 1.0  # seconds that a status waits for Ollama, which answers in milliseconds or hangs


class OllamaEmbedder(Identified):
    """A model of the Ollama that BANKML_OLLAMA names. `manifest`: the digest of its manifest; None: not known."""

    provider = "ollama"

    def __init__(
        self, name: str, identity: Identity, manifest: str | None, settings: Settings, measure: Measure = available
    ) -> None:
        self._name = name
        self._identity = identity
        self._manifest = manifest
        self._dims = BGE_M3_DIMS if self._identity.model == BGE_M3.name else self._identity.dims
        self._api = Api(settings.ollama)
        self._keep_alive = spelled(settings.embed_keep_alive)
        self._need = NEED if settings.embed_need is None else settings.embed_need
        self._measure = measure
        self._version = ""
        self._turn = Turn()
        if not is_loopback(settings.ollama):
            warnings.warn(_leaves(settings.ollama), ModelWarning, stacklevel=2)

    @property
    def dims(self) -> int:
        """Where the file does not say it, Ollama is asked once for a vector. Raises as `embed`."""
        return self._dims or self.embed([""]).shape[1]

    @property
    def engine(self) -> str:
        return f"ollama {self._version}".strip()

    @property
    def loaded(self) -> bool:
        try:
            return self._api.loaded(self._name, GLANCE) is not None
        except UnavailableError:
            return False

    def embed(
        self, texts: Sequence[str], *, query: bool = False, block: bool = True, cancelled: Cancelled | None = None
    ) -> Floats:
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
        facts = {"provider": self.provider, **self._identity.facts(), "dims": self._dims or None}
        if not is_loopback(self._api.url):
            facts["notes"] = [*facts["notes"], _leaves(self._api.url)]
        try:
            loaded = self._api.loaded(self._name, GLANCE) is not None
        except UnavailableError as error:
            return facts | {"loaded": False, "ready": False, "why": str(error)}
        lack = None if loaded else self._short()
        return facts | {"loaded": loaded, "ready": lack is None, "why": str(lack or "")}

    def close(self) -> None:
        """Ollama lets go of the model by itself."""

    def _ready(self) -> None:
        if not self._version:
            self._version = self._api.version()
        row = self._api.loaded(self._name)
        if row is None and (lack := self._short()):
            raise UnavailableError(str(lack))
        self._check(row or self._api.listed(self._name) or {})

    def _check(self, row: dict[str, Any]) -> None:
        """What Ollama would run must be what its vectors are recorded under."""
        found = _manifest(row)
        if self._manifest and found and found != self._manifest:
            raise UnavailableError(
                f"the Ollama at {self._api.url} has another {self._name} ({printable(found[:12])}) than was found at "
                f"first ({printable(self._manifest[:12])}): start this program again if it was pulled anew meanwhile, "
                "else set OLLAMA_MODELS to the store of that Ollama"
            )

    def _rows(self, texts: list[str], cancelled: Cancelled | None) -> list[list[float]]:
        """Ollama does not say which of several texts have no vector: each is asked for alone then, all of them once."""
        try:
            return self._api.embed(self._name, texts, self._keep_alive, cancelled)
        except NotFiniteError as error:
            if error.index is not None:
                raise
        rows, bad = [], []
        for index, text in enumerate(texts):
            try:
                rows += self._api.embed(self._name, [text], self._keep_alive, cancelled)
            except NotFiniteError:
                bad.append(index)
        if bad:
            raise NotFiniteError(f"{self.model} of Ollama gave no finite vector for text {bad[0]}", indexes=bad)
        return rows

    def _short(self) -> ShortError | None:
        """Of this machine's memory; another's is not known."""
        here = is_loopback(self._api.url)
        return short(self.model, self._need, self._measure) if here else None


def of_store(model: OllamaModel, settings: Settings, prefixes: Override | None = None) -> OllamaEmbedder:
    """The embedder of a model whose manifest lies here. Raises ModelError where its weights cannot be found."""
    identity = Identity.of_ollama(model).overridden(prefixes)
    return OllamaEmbedder(str(model.name), identity, model.digest, settings)


def of_name(
    settings: Settings, name: str | os.PathLike[str] | None = None, prefixes: Override | None = None
) -> OllamaEmbedder:
    """The embedder of a model that Ollama has; None: BANKML_EMBED_MODEL, else bge-m3.

    By its manifest if that can be read here, else by what Ollama itself says of its weights. Raises Error.
    """
    wanted = os.fspath(name) if name else settings.embed_model or BGE_M3.name
    if model := ollama_store.find(wanted, settings):
        return of_store(model, settings, prefixes)
    api, full = Api(settings.ollama), str(OllamaName.parse(wanted))
    row = api.listed(full, GLANCE) or {}  # first: what is pulled before the weights are told is noticed then
    identity = Identity.of_shown(full, api.shown(full, GLANCE), row)
    if identity is None:
        raise UnavailableError(
            f"{full} is in no store of Ollama that can be read here, and what answers at {api.url} does not tell its "
            f"weights: if that is an Ollama, run `ollama pull {wanted}`, else set BANKML_OLLAMA to where one listens"
        )
    return OllamaEmbedder(full, identity.overridden(prefixes), _manifest(row) or None, settings)


def _manifest(row: dict[str, Any]) -> str:
    """Its digest by a list of Ollama's; "" where it is unsaid."""
    return str(row.get("digest") or "").removeprefix("sha256:")


def _leaves(url: str) -> str:
    return f"the Ollama at {url} is not on this machine: what is embedded is sent there"
