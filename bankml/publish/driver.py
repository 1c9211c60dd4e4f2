"""psycopg and pgvector come with the extra `postgres`: what imports them is imported once this was asked."""

from importlib import import_module

from bankml.errors import StoreError


def required() -> None:
    """Raises StoreError where one of them is not installed."""
    try:
        for name in ("psycopg", "pgvector.psycopg"):
            import_module(name)
    except ImportError:  # also of a psycopg without libpq
        raise StoreError(
            "PostgreSQL needs two packages that are not here: run pip install 'psycopg[binary]>=3.2' 'pgvector>=0.4'"
        ) from None
