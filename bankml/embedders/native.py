"""The engine in this process as an embedder."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import Any, Protocol, Self
from weakref import ref

from bankml.embedders.embedder import Cancelled, Floats
from bankml.embedders.identified import Identified
from bankml.embedders.identity import Identity
from bankml.embedders.kept import Kept
from bankml.embedders.turn import Turn
from bankml.embedders.vectors import checked, listed
from bankml.encoder import Encoder, chosen
from bankml.errors import FileChangedError, InputError, ModelError, UnavailableError
from bankml.models import Choice
from bankml.models.prefixes import Override
from bankml.room import Room
from bankml.settings import EMBED_KEEP_ALIVE

SECOND = 10**9


class Lender(Protocol):
    """Has encoders of its own, and lends them to who embeds beside."""

    def has(self, choice: Choice) -> bool:
        """Whether the model is in memory."""
        ...

    def lent(self, choice: Choice) -> AbstractContextManager[Encoder]:
        """The model's encoder until the block ends. Raises ModelError, InputError, BusyError."""
        ...


class NativeEmbedder(Identified):
    """A model on this machine, loaded at its first use and dropped `keep_alive` nanoseconds after the last.

    Documents wait for documents and queries for queries: a query is an urgent pass, which the engine lets in between
    two layers of a document's. `encoder`: one that is loaded already and stays its owner's; it is never dropped here.
    `room` says whether there is memory for it, `prefixes` what is wanted instead of its family's, `pooling` how token
    vectors become one where its file says none. `options` are the Encoder's.
    """

    provider = "native"

    def __init__(
        self,
        choice: Choice,
        keep_alive: int = EMBED_KEEP_ALIVE,
        room: Room | None = None,
        encoder: Encoder | None = None,
        prefixes: Override | None = None,
        pooling: str | None = None,
        **options: Any,
    ) -> None:
        self._choice = choice
        self._identity = Identity.of(choice).overridden(prefixes).pooled(pooling)
        self._room = room or Room()
        self._options = options | {"pooling": pooling}
        self._given = encoder
        self._lender: Lender | None = None
        self._checked: Callable[[], Encoder | None] = lambda: None  # the last one that was lent
        self._kept = Kept(self._load, Encoder.close, keep_alive / SECOND)
        self._documents, self._queries = Turn(), Turn()

    @property
    def dims(self) -> int:
        """As in Embedder, and so are the others."""
        return self._identity.dims

    @property
    def engine(self) -> str:
        from bankml import __version__

        return f"bankml {__version__}"

    @property
    def loaded(self) -> bool:
        if self._lender:
            return self._lender.has(self._choice)
        return self._given is not None or self._kept.present

    def borrow(self, lender: Lender) -> Self:
        """The same, with the encoders of `lender` in place of its own: in a server one of each model is enough.

        A pooling that the file does not say is only its own's: a lender's encoders are as the file says.
        """
        if not self._options["pooling"]:
            self._lender = lender
        return self

    def embed(
        self, texts: Sequence[str], *, query: bool = False, block: bool = True, cancelled: Cancelled | None = None
    ) -> Floats:
        """As in Embedder."""
        whole = listed(texts, self.query_prefix if query else self.document_prefix)
        turn = self._queries if query else self._documents
        with turn.taken(block, cancelled):
            rows: Floats | list[list[float]] = self._encoded(whole, query, block, cancelled) if whole else []
        return checked(rows, len(whole), self.dims, self.model)

    @property
    def context_length(self) -> int:
        """As in Counting."""
        with self._held(block=True) as encoder:
            return encoder.context_length

    def count(self, texts: Sequence[str]) -> list[int]:
        """As in Counting."""
        whole = listed(texts, self.document_prefix)
        try:
            with self._held(block=True) as encoder:
                return encoder.tokens(whole, whole=True).counts.tolist() if whole else []
        except FileChangedError as error:
            self._kept.drop()
            raise UnavailableError(str(error)) from None

    def status(self) -> dict[str, Any]:
        """As in Embedder."""
        loaded = self.loaded
        why = "" if loaded else self._why_not()
        return {"provider": self.provider, **self._identity.facts(), "loaded": loaded, "ready": not why, "why": why}

    def close(self) -> None:
        """As in Embedder; the next call would load it again."""
        self._kept.drop()

    def _encoded(self, texts: list[str], query: bool, block: bool, cancelled: Cancelled | None) -> Floats:
        try:
            with self._held(block) as encoder:
                return encoder.encode_full(texts, urgent=query, cancelled=cancelled).vectors
        except FileChangedError as error:
            self._kept.drop()
            raise UnavailableError(str(error)) from None
        except InputError as error:
            if error.index is None:  # the texts were looked at before, so it is the encoder that was closed
                raise UnavailableError(str(error)) from None
            raise

    def _held(self, block: bool) -> AbstractContextManager[Encoder]:
        if self._lender:
            return self._lent(self._lender)
        return nullcontext(self._given) if self._given else self._kept.held(block)

    @contextmanager
    def _lent(self, lender: Lender) -> Iterator[Encoder]:
        """The lender's encoder, if it is of the very file that this embedder is of."""
        with ExitStack() as stack:
            try:
                encoder = stack.enter_context(lender.lent(self._choice))
            except (ModelError, InputError) as error:
                raise UnavailableError(str(error)) from None
            if encoder is not self._checked():
                self._identity.check(self.digest)
                self._checked = ref(encoder)
            yield encoder

    def _load(self) -> Encoder:
        if why := self._why_not():
            raise UnavailableError(why)
        try:
            self._identity.check(self.digest)
            return chosen(self._choice, **self._options)
        except ModelError as error:
            raise UnavailableError(str(error)) from None

    def _why_not(self) -> str:
        """Why it cannot be loaded now; "" where that is not known before it is tried."""
        if not self._choice.path.is_file():
            return f"{self._choice.path} is gone: pull {self.model} again, or name another model"
        return str(self._room.short(self._choice, self._room.need(self._choice)) or "")
