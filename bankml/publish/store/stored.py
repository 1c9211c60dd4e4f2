"""What the database says of a published store."""

from dataclasses import dataclass

from bankml.errors import InputError
from bankml.publish.connection import Connection
from bankml.publish.store.model import PublishedModel

LONGEST = 200  # characters of a name
NAMED = "SELECT store_id FROM bankml_stores WHERE name = %s"
SAVE = """
INSERT INTO bankml_stores (store_id, name, private_included, documents_included, model, digest, fingerprint, dims,
    licence, pooling, query_prefix, document_prefix, bankml, published_at)
VALUES (%(store_id)s, %(name)s, %(private)s, %(documents)s, %(model)s, %(digest)s, %(fingerprint)s, %(dims)s,
    %(licence)s, %(pooling)s, %(query_prefix)s, %(document_prefix)s, %(bankml)s, clock_timestamp())
ON CONFLICT (store_id) DO UPDATE SET (name, private_included, documents_included, model, digest, fingerprint, dims,
    licence, pooling, query_prefix, document_prefix, bankml, published_at) = (EXCLUDED.name, EXCLUDED.private_included,
    EXCLUDED.documents_included, EXCLUDED.model, EXCLUDED.digest, EXCLUDED.fingerprint, EXCLUDED.dims,
    EXCLUDED.licence, EXCLUDED.pooling, EXCLUDED.query_prefix, EXCLUDED.document_prefix, EXCLUDED.bankml,
    EXCLUDED.published_at)
RETURNING number
"""
COUNT = """
UPDATE bankml_stores SET records = (SELECT count(*) FROM bankml_records WHERE store = number),
    (passages, embedded, length) =
        (SELECT count(*), count(fingerprint), coalesce(sum(length), 0) FROM bankml_passages WHERE store = number)
WHERE number = %s RETURNING records, passages, embedded
"""


@dataclass(frozen=True)
class Stored:
    """`store_id`: which store it is, wherever its file goes; `file`: what it is called by itself."""

    store_id: str
    file: str
    private: bool
    documents: bool
    model: PublishedModel | None


def name(connection: Connection, stored: Stored, given: str | None) -> str:
    """The name that the store has from now on: `given`, else the one it has, else the file's, if that is free.

    Raises InputError for a name that is another store's, or none.
    """
    if given is not None:
        return _free(connection, stored, _checked(given))
    row = connection.execute("SELECT name FROM bankml_stores WHERE store_id = %s", (stored.store_id,)).fetchone()
    if row is not None:
        return str(row[0])
    holder = connection.execute(NAMED, (stored.file,)).fetchone()
    return stored.file if holder is None else f"{stored.file}-{stored.store_id[:6]}"


def save(connection: Connection, stored: Stored, name: str) -> int:
    """The store's row, locked until the transaction ends; its number."""
    from bankml import __version__

    model = stored.model
    facts = {
        "store_id": stored.store_id,
        "name": name,
        "private": stored.private,
        "documents": stored.documents,
        "bankml": __version__,
        **{each: getattr(model, each, None) for each in ("model", "digest", "fingerprint", "dims")},
        **{each: getattr(model, each, None) for each in ("pooling", "query_prefix", "document_prefix")},
        "licence": model.licence.id if model else None,
    }
    row = connection.execute(SAVE, facts).fetchone()
    assert row is not None
    return int(row[0])


def count(connection: Connection, number: int) -> tuple[int, int, int]:
    """Records, passages, and how many of these have a vector, counted and kept."""
    row = connection.execute(COUNT, (number,)).fetchone()
    assert row is not None
    return row


def _free(connection: Connection, stored: Stored, name: str) -> str:
    holder = connection.execute(NAMED, (name,)).fetchone()
    if holder is not None and holder[0] != stored.store_id:
        raise InputError(f"another store is published as {name!r} there: give this one another name with --name")
    return name


def _checked(name: str) -> str:
    if not name.strip() or len(name) > LONGEST or not name.isprintable():
        raise InputError(f"the name {name[:LONGEST]!r} is none: give 1 to {LONGEST} printable characters")
    return name.strip()
