"""The stores that a database has, as it says of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bankml.errors import InputError, StoreError
from bankml.publish.connection import Connection, place
from bankml.publish.store import schema

COLUMNS = (
    "number, store_id, name, private_included, documents_included, model, digest, fingerprint, dims, pooling, "
    "query_prefix, document_prefix, records, passages, embedded, published_at"
)
SELECT = f"SELECT {COLUMNS} FROM bankml_stores ORDER BY number"


@dataclass(frozen=True)
class Recipe:
    """What vectors were made by: those of two are never compared. Pooling and prefixes: None where nobody knew."""

    model: str
    digest: str
    fingerprint: str
    dims: int
    pooling: str | None
    query_prefix: str | None
    document_prefix: str | None


@dataclass(frozen=True)
class Listed:
    """A published store. `recipe`: None where it has no vectors."""

    number: int
    store_id: str
    name: str
    private: bool
    documents: bool
    recipe: Recipe | None
    records: int
    passages: int
    embedded: int
    published_at: datetime


def listed(connection: Connection, version: int) -> list[Listed]:
    """All, in the order in which they were first published. `version`: of the tables, 0 where there are none."""
    if not version:
        return []
    found = []
    for row in connection.execute(SELECT.encode()).fetchall():
        number, store_id, name, private, documents, *of_recipe, records, passages, embedded, at = row
        recipe = Recipe(*of_recipe) if of_recipe[2] else None
        found.append(Listed(number, store_id, name, private, documents, recipe, records, passages, embedded, at))
    return found


def stores(connection: Connection) -> list[dict[str, Any]]:
    """All, for people and programs. Raises StoreError as `schema.look`."""
    found = listed(connection, schema.look(connection).version)
    return [
        {
            "name": each.name,
            "store_id": each.store_id,
            "private_included": each.private,
            "documents_included": each.documents,
            "records": each.records,
            "passages": each.passages,
            "embedded": each.embedded,
            "model": each.recipe.model if each.recipe else None,
            "digest": each.recipe.digest if each.recipe else None,
            "published_at": each.published_at,
        }
        for each in found
    ]


def chosen(connection: Connection, stores: Sequence[Listed], names: Sequence[str]) -> list[Listed]:
    """Those of these names; no names: all. Raises StoreError where there is none, InputError for a name that is not."""
    if not stores:
        raise StoreError(f"{place(connection)}: no store is published there; `bankml publish --store` publishes one")
    by_name = {each.name: each for each in stores}
    for name in names:
        if name not in by_name:
            raise InputError(f"no store {name!r} is published there; there are {', '.join(sorted(by_name))}")
    return [by_name[name] for name in dict.fromkeys(names)] or list(stores)
