"""What of a database may be found: passages of some stores, of records that pass filters or of documents."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from psycopg import sql

RECORDS = """JOIN bankml_records r ON r.store = p.store AND r.id = p.record"""
# An empty list lets everything pass.
PASSING = """p.record IS NOT NULL
    AND (cardinality(%(statuses)s::text[]) = 0 OR r.status = ANY(%(statuses)s))
    AND (cardinality(%(categories)s::text[]) = 0 OR r.category = ANY(%(categories)s))
    AND (cardinality(%(namespaces)s::text[]) = 0 OR r.namespace = ANY(%(namespaces)s))
    AND (r.namespace <> 'session' OR r.session = %(session)s)
    AND r.tags @> %(tags)s::text[]"""


@dataclass(frozen=True)
class Scope:
    """`stores`: by number. `records`: else documents, which none of the filters concerns."""

    stores: tuple[int, ...]
    records: bool = True
    statuses: tuple[str, ...] = ("active",)
    categories: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    session: str = ""
    tags: tuple[str, ...] = ()

    @property
    def tables(self) -> sql.SQL:
        """What to select from: `p`, and of records `r`."""
        return sql.SQL(f"bankml_passages p {RECORDS}" if self.records else "bankml_passages p")

    @property
    def condition(self) -> sql.SQL:
        """Of the rows that may be found; it takes `values`."""
        own = PASSING if self.records else "p.record IS NULL"
        return sql.SQL(f"p.store = ANY(%(stores)s) AND {own}")

    @property
    def values(self) -> dict[str, Any]:
        """The parameters."""
        lists: dict[str, Sequence[Any]] = {
            name: list(getattr(self, name)) for name in ("stores", "statuses", "categories", "namespaces", "tags")
        }
        return {**lists, "session": self.session}
