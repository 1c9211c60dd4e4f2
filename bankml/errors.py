"""Every error bankml raises on purpose. A message is one sentence that names the value and the remedy."""

from collections.abc import Sequence


class Error(Exception):
    """Base of every error of bankml.

    `index`: which text of the call it is about, counted from 0; None where it is about none in particular.
    """

    exit_code = 1

    def __init__(self, *message: object, index: int | None = None) -> None:
        super().__init__(*message)
        self.index = index


class ModelError(Error):
    """A model that cannot be found, read or used."""


class NotFiniteError(ModelError):
    """A text without a vector: a weight on its way, or the vector itself, is NaN or infinite.

    `indexes`: all such texts that are known of; `index` is the first of them.
    """

    def __init__(self, *message: object, index: int | None = None, indexes: Sequence[int] = ()) -> None:
        self.indexes = tuple(indexes) or (() if index is None else (index,))
        super().__init__(*message, index=self.indexes[0] if self.indexes else None)


class FileChangedError(ModelError):
    """A model whose file was truncated or written to while it was in use; loading it again may help."""


class ShortError(ModelError):
    """A model that was not loaded because the memory that is available does not suffice for it."""


class PoolingError(ModelError):
    """A model that does not say how token vectors become one, where nobody else said it."""


class NotFetchedError(ModelError):
    """A model that is not here and cannot be had now: nothing answers, or downloads are forbidden."""


class InputError(Error, ValueError):
    """A request that cannot be served as asked."""


class TooLongError(InputError):
    """A text of more tokens than the limit, where cutting it was not allowed."""


class ModelWarning(UserWarning):
    """What the user of a model should know though it works: a key that its file lacks, and what is assumed."""


class BusyError(Error):
    """The engine has too much to do already; try again later."""


class StoreError(Error):
    """Something that bankml stores cannot be read or written."""


class MismatchError(StoreError):
    """Another model than the one that a store's vectors are of."""


class ChangedError(StoreError):
    """A file that was changed while it was read; reading it again helps."""


class CancelledError(Error):
    """The caller gave up before the answer was ready."""


class UnavailableError(Error):
    """Texts cannot be embedded here and now; the sentence is why, and what would change it."""


class DisabledError(UnavailableError):
    """Texts could be embedded, and a setting says that they are not to be."""


class LicenceError(UnavailableError):
    """A model whose licence is not known to be open, where it was not allowed by name."""


class DocumentError(InputError):
    """A file without a text that can be read; the sentence goes on from its name."""
