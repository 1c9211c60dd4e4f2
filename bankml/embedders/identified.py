"""What both embedders tell of their weights."""

from functools import cached_property

from bankml.embedders.identity import Identity
from bankml.models.licence import Licence


class Identified:
    """The properties of Embedder that the identity of the weights answers."""

    _identity: Identity

    @property
    def model(self) -> str:
        """As in Embedder, and so are the others."""
        return self._identity.model

    @property
    def reference(self) -> str:
        return self._identity.reference or self._identity.model

    @property
    def dtype(self) -> str:
        return self._identity.dtype

    @property
    def pooling(self) -> str:
        return self._identity.pooling

    @cached_property
    def digest(self) -> str:
        return self._identity.digest

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
    def adapted(self) -> bool:
        return self._identity.adapted
