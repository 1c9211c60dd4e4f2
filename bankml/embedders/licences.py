"""Texts are indexed and published with models whose licence is known to be open, and others that were named."""

from collections.abc import Collection
from typing import Protocol

from bankml.errors import LicenceError
from bankml.models.licence import Licence, refused


class Licensed(Protocol):
    """An embedder, or the vectors of one."""

    @property
    def model(self) -> str: ...
    @property
    def licence(self) -> Licence: ...


def check_licence(licensed: Licensed, allowed: Collection[str] = ()) -> None:
    """Raises LicenceError where the model's licence is not known to be open and `allowed` does not name it."""
    if refusal := refused(licensed.model, licensed.licence, allowed):
        raise LicenceError(refusal)
