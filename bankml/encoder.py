"""Texts in, vectors out: the native engine with the names of a Python library."""

import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from bankml._engine import Engine, shorten
from bankml.errors import InputError, ModelError, ModelWarning
from bankml.gguf_numbers import Pooling
from bankml.settings import MAX_THREADS, Settings

if TYPE_CHECKING:
    from bankml.models import Choice

BGE_M3_DIMS = 1024

Gelu = Literal["erf", "tanh"]


@dataclass(frozen=True, slots=True)
class Encoded:
    """What became of each text."""

    vectors: NDArray[np.float32]  # (n, dims); (sum of tokens, dims) when the model does not pool
    tokens: NDArray[np.int32]  # (n,): tokens really encoded, the special ones included
    truncated: NDArray[np.bool_]  # (n,): whether the text was longer than the limit


@dataclass(frozen=True, slots=True)
class Tokens:
    """Texts as token ids, one behind the other, special ones included."""

    ids: NDArray[np.int32]  # (tokens,)
    starts: NDArray[np.int32]  # (n + 1,): text i is ids[starts[i]:starts[i + 1]]
    truncated: NDArray[np.bool_]  # (n,): whether the text was longer than the limit

    @property
    def counts(self) -> NDArray[np.int32]:
        """Tokens of each text, (n,)."""
        return np.diff(self.starts)

    def __len__(self) -> int:
        return len(self.truncated)


class Encoder:
    """An embedding model in a GGUF file, ready to encode; safe to use from many threads.

    `threads=None` means BANKML_THREADS, else one per usable physical core; `backend=None` means BANKML_BACKEND, else
    the best one this CPU allows. Raises ModelError when the file cannot be used, InputError when an option cannot;
    warns (ModelWarning) of what the file leaves unsaid and is assumed.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        threads: int | None = None,
        backend: str | None = None,
        gelu: Gelu = "erf",
        *,
        pooling: Pooling | None = None,
        name: str | None = None,
    ) -> None:
        _check(path, threads)
        self._made_from = (os.path.abspath(path), threads, backend, gelu, pooling, name)
        settings = Settings.read()
        threads = settings.threads if threads is None else threads
        backend = settings.backend if backend is None else backend
        self.path = Path(path)
        self._engine = Engine(path, threads, backend, gelu, pooling or "")
        self.name: str = name or self._engine.name or self.path.stem
        self.dims: int = self._engine.dims
        self.context_length: int = self._engine.context_length
        self.arch: str = self._engine.arch
        self.pooling: str = self._engine.pooling
        self.backend: str = self._engine.backend
        self.threads: int = self._engine.threads
        for sentence in self._engine.warnings:
            if pooling and sentence.startswith("bert.pooling_type"):  # nothing is assumed
                continue
            warnings.warn(f"{self.path}: {sentence.strip(' .')}", ModelWarning, stacklevel=2)

    @cached_property
    def digest(self) -> str:
        """sha256 of the file, 64 hex digits, computed when it is first asked for."""
        from bankml.models.digest import sha256

        return sha256(self.path)

    @cached_property
    def metadata(self) -> dict[str, Any]:
        """The file's own keys; an array of more than 64 elements is given as None."""
        return self._engine.metadata

    def encode(
        self, texts: Iterable[str], normalize: bool = True, truncate: bool = True, dimensions: int | None = None
    ) -> NDArray[np.float32]:
        """Vectors of the texts: float32 (n, dims), C-contiguous, of unit length unless `normalize` is False.

        `dimensions` keeps the first so many components (of unit length again); 0 and below, or `dims` and above, change
        nothing. With `truncate=False` a text longer than `context_length` tokens raises TooLongError; a vector that
        would not be finite raises NotFiniteError. Errors about one text carry its `index`.
        """
        return self.encode_full(texts, normalize, truncate, dimensions).vectors

    def encode_full(
        self,
        texts: Iterable[str],
        normalize: bool = True,
        truncate: bool = True,
        dimensions: int | None = None,
        *,
        max_tokens: int | None = None,
        parse_special: bool = False,
        urgent: bool = False,
        cancelled: Callable[[], bool] | None = None,
    ) -> Encoded:
        """As `encode`, with the token count of each text and whether it was cut.

        `max_tokens` lowers the limit below `context_length`; InputError when it leaves no room for a token of text. An
        `urgent` call goes before others that are not, between their layers: a query while documents are encoded.
        `cancelled` is asked between layers, at most every 50 ms, by the thread that encodes while others wait for it:
        it must not encode itself (InputError).
        """
        limit = self._limit(max_tokens)
        return Encoded(
            *self._engine.encode(
                _listed(texts), normalize, truncate, self._kept(dimensions), limit, parse_special, urgent, cancelled
            )
        )

    def encode_ids(
        self,
        ids: Iterable[Sequence[int]],
        normalize: bool = True,
        truncate: bool = True,
        dimensions: int | None = None,
    ) -> NDArray[np.float32]:
        """As `encode`, from token ids with the special tokens in place."""
        return self._engine.encode_ids(list(ids), normalize, truncate, self._kept(dimensions))[0]

    def tokens(
        self,
        texts: Iterable[str],
        truncate: bool = True,
        *,
        max_tokens: int | None = None,
        whole: bool = False,
        cancelled: Callable[[], bool] | None = None,
    ) -> Tokens:
        """What `encode_full` would encode of these texts; raises as it does. `whole`: all of them, however long."""
        limit = self._limit(max_tokens)
        return Tokens(*self._engine.tokenize_all(_listed(texts), truncate, limit, whole, cancelled))

    def encode_pass(
        self,
        ids: NDArray[np.int32],
        starts: NDArray[np.int32],
        urgent: bool = False,
        unwanted: Callable[[], Sequence[int]] | None = None,
    ) -> NDArray[np.float32]:
        """One pass over texts from `tokens`, perhaps of several callers → rows (n, dims) as the model made them.

        `shortened` makes of them what `encode` gives, to the bit. All texts are worked on at once: bound their tokens.
        `unwanted` is asked between layers, at most every 50 ms, which texts (by number) nobody waits for any more: they
        are left out from then on, and their rows are zero. Raises NotFiniteError with the `index` of a text.
        """
        return self._engine.encode_pass(ids, starts, urgent, unwanted)

    def shortened(
        self, rows: NDArray[np.float32], normalize: bool = True, dimensions: int | None = None
    ) -> NDArray[np.float32]:
        """Rows (n, dims) as the model made them → vectors as `encode` gives them with these options."""
        return shorten(rows, self._kept(dimensions) or self.dims, normalize)

    def tokenize(self, text: str, parse_special: bool = False) -> list[int]:
        """Ids of the text, special tokens included, however long. A literal `</s>` is text unless `parse_special`."""
        _check_text(text, "the text")
        return self._engine.tokenize(text, parse_special)[0]

    def piece(self, token: int) -> bytes:
        """The vocabulary's entry for a token id."""
        return self._engine.piece(token)

    def verify_finite(self, progress: Callable[[int, int], None] | None = None) -> None:
        """Read every weight; raises ModelError naming the first tensor with a value that is not finite."""
        self._engine.verify_finite(progress)

    def close(self) -> None:
        """Drop the model. Calls in flight end normally, later ones raise InputError."""
        self._engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> tuple[Callable[..., "Encoder"], tuple[Any, ...]]:
        """Pickled and copied as what it was made from: the other side opens the file itself."""
        return _made, self._made_from

    def __repr__(self) -> str:
        return f"<Encoder {self.name}: {self.arch}, {self.dims} dimensions, {self.context_length} tokens>"

    def _limit(self, max_tokens: int | None) -> int:
        """Tokens of a text at most. Raises InputError for a limit that the special tokens alone would fill."""
        if max_tokens is None:
            return self.context_length
        if max_tokens <= self._special_tokens:
            least = self._special_tokens + 1
            raise InputError(
                f"max_tokens is {max_tokens}; give {least} (the special tokens and one more) or more, or None"
            )
        return min(max_tokens, self.context_length)

    @cached_property
    def _special_tokens(self) -> int:
        """How many a text gets that has no words."""
        return len(self._engine.tokenize("", False)[0])

    def _kept(self, dimensions: int | None) -> int:
        return dimensions if dimensions and 0 < dimensions < self.dims else 0


def load(name: str | os.PathLike[str] | None = None, **options: Any) -> Encoder:
    """The encoder of a GGUF path, a built-in or an Ollama name; options as in Encoder. None: the default model."""
    from bankml.models import resolve

    return chosen(resolve(name), **options)


def chosen(choice: "Choice", **options: Any) -> Encoder:
    """The encoder of a model that was chosen and is here.

    Raises ModelError when it calls itself bge-m3 and is another model: stores of bge-m3's vectors have 1,024 columns.
    """
    encoder = Encoder(choice.path, name=choice.name, **options)
    try:
        check_width(choice, encoder.dims)
    except ModelError:
        encoder.close()
        raise
    return encoder


def check_width(choice: "Choice", dims: int) -> None:
    """Raises ModelError for what calls itself bge-m3 and has not its 1,024 dimensions."""
    named = choice.name.rpartition("/")[2].partition(":")[0].lower()
    if choice.kind != "file" and named == "bge-m3" and dims != BGE_M3_DIMS:
        raise ModelError(f"{choice.name} has {dims} dimensions, bge-m3 has {BGE_M3_DIMS}: pull it again")


def _listed(texts: Iterable[str]) -> list[str]:
    if isinstance(texts, str | bytes):
        raise InputError(f"texts is one {type(texts).__name__}; pass a list: [text]")
    if not isinstance(texts, Iterable):
        raise InputError(f"texts is of type {type(texts).__name__}; pass a list of str")
    listed = list(texts)
    for index, text in enumerate(listed):
        _check_text(text, f"text {index}", index)
    return listed


def _check_text(text: object, called: str, index: int | None = None) -> None:
    if not isinstance(text, str):
        raise InputError(f"{called} is of type {type(text).__name__}; every text must be a str", index=index)


def _check(path: object, threads: object) -> None:
    if not isinstance(path, str | os.PathLike) or not os.fspath(path):
        raise InputError(f"the path is {path!r}; give the path of a GGUF file, as str or Path")
    if threads is None:
        return
    if not isinstance(threads, int) or not 0 <= threads <= MAX_THREADS:
        raise InputError(f"threads is {threads!r}; give a number from 0 (one per core) to {MAX_THREADS}")


def _made(
    path: str | os.PathLike[str],
    threads: int | None,
    backend: str | None,
    gelu: Gelu,
    pooling: Pooling | None,
    name: str | None,
) -> Encoder:
    return Encoder(path, threads, backend, gelu, pooling=pooling, name=name)
