"""What of a database may be found: passages of some stores, of records that pass filters or of documents."""

from dataclasses import dataclass
from typing import Any, LiteralString

from psycopg import sql

from bankml.memory.recall.wanted import Wanted

RECORDS: LiteralString = "bankml_passages p JOIN bankml_records r ON r.store = p.store AND r.id = p.record"
DOCUMENTS: LiteralString = "bankml_passages p"
# As `Wanted.passes`; an empty list of categories or namespaces lets all of them pass.
PASSING: LiteralString = """p.store = ANY(%(stores)s) AND p.record IS NOT NULL
    AND r.status = ANY(%(statuses)s::text[])
    AND (cardinality(%(categories)s::text[]) = 0 OR r.category = ANY(%(categories)s::text[]))
    AND (cardinality(%(namespaces)s::text[]) = 0 OR r.namespace = ANY(%(namespaces)s::text[]))
    AND (r.namespace <> 'session' OR (r.session = %(session)s AND r.session <> ''))
    AND r.tags @> %(tags)s::text[]"""


@dataclass(frozen=True)
class Scope:
    """`stores`: by number. `wanted`: records that pass it; None: documents."""

    stores: tuple[int, ...]
    wanted: Wanted | None = None

    @property
    def tables(self) -> sql.SQL:
        """What to select from: `p`, and of records `r`."""
        return sql.SQL(RECORDS if self.wanted else DOCUMENTS)

    @property
    def condition(self) -> sql.SQL:
        """Of the rows that may be found; it takes `values`."""
        return sql.SQL(PASSING if self.wanted else "p.store = ANY(%(stores)s) AND p.record IS NULL")

    @property
    def values(self) -> dict[str, Any]:
        """The parameters."""
        found: dict[str, Any] = {"stores": list(self.stores)}
        if self.wanted:
            found |= {
                name: list(getattr(self.wanted, name)) for name in ("statuses", "categories", "namespaces", "tags")
            }
            found["session"] = self.wanted.session
        return found
