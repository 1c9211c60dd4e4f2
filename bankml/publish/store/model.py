"""The model that a store's vectors are of, as far as it is published."""

import os
from collections.abc import Collection
from dataclasses import dataclass

from bankml.embedders.licences import check_licence
from bankml.errors import Error
from bankml.library.model import binding
from bankml.library.model.configuration import Configuration
from bankml.library.model.fingerprint import fingerprint
from bankml.models.licence import UNKNOWN, Licence
from bankml.settings import Settings
from bankml.store import Bound, Store


@dataclass(frozen=True)
class PublishedModel:
    """`model`: its name; of a path the file's alone. Pooling and prefixes are the passages', None: not known."""

    model: str
    digest: str
    fingerprint: str
    dims: int
    licence: Licence
    pooling: str | None = None
    query_prefix: str | None = None
    document_prefix: str | None = None


def published_model(
    store: Store, bound: Bound | None, settings: Settings, allowed: Collection[str]
) -> PublishedModel | None:
    """None of a store without vectors. Raises LicenceError: its licence is not known to be open, nor `allowed`.

    A model that is not on this machine any more has no known licence.
    """
    if bound is None:
        return None
    name = os.path.basename(bound.model_name)
    found = PublishedModel(name, bound.digest, bound.fingerprint, bound.dims, UNKNOWN)
    try:
        embedder = binding.chosen(bound.model_name, Configuration.read(store.path), settings)
        if embedder.digest == bound.digest:
            recipe = (embedder.pooling, embedder.query_prefix, embedder.document_prefix)
            known = fingerprint(embedder) == bound.fingerprint
            facts = (name, bound.digest, bound.fingerprint, bound.dims, embedder.licence)
            found = PublishedModel(*facts, *(recipe if known else ()))
    except (Error, OSError):
        pass
    check_licence(found, allowed)
    return found
