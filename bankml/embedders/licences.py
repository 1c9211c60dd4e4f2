"""Texts are indexed and published with models whose licence is known to be open, and others that were named."""

from collections.abc import Collection

from bankml.embedders.embedder import Embedder
from bankml.errors import LicenceError
from bankml.models.licence import refused


def check_licence(embedder: Embedder, allowed: Collection[str] = ()) -> None:
    """Raises LicenceError where the model's licence is not known to be open and `allowed` does not name it."""
    if refusal := refused(embedder.model, embedder.licence, allowed):
        raise LicenceError(refusal)
