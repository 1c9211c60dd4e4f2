"""Where the database is: libpq's connection strings. No password of one is ever shown."""

from collections.abc import Mapping

import psycopg
from psycopg.conninfo import conninfo_to_dict

from bankml.errors import InputError
from bankml.settings import Settings

DEFAULT = "dbname=bankml"
PATIENCE = 10  # seconds until a server that says nothing is given up
# Any of them may be set in the DSN. A connection whose other end is gone is noticed within a minute.
PARAMETERS = {
    "connect_timeout": str(PATIENCE),
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "60000",
    "application_name": "bankml",
}


def parameters(dsn: str | None = None, settings: Settings | None = None) -> dict[str, str]:
    """Of `dsn`, else BANKML_PG_DSN, else `dbname=bankml`. Raises InputError for one that cannot be read."""
    text = dsn or (settings or Settings.read()).pg_dsn or DEFAULT
    if _ambiguous(text):
        raise InputError("the DSN has an @ or a / in its user or password: write them as %40 and %2F there")
    try:
        found = conninfo_to_dict(text)
    except (psycopg.Error, UnicodeError):  # its message quotes what it could not read, which may be the password
        raise InputError(
            "the DSN cannot be read: give one such as postgresql://user@host/database or 'host=… dbname=…', "
            "a value with a space in single quotes"
        ) from None
    given = {name: str(value) for name, value in found.items() if value is not None}
    return {**PARAMETERS, **given, "client_encoding": "UTF8"}


def place(given: Mapping[str, str]) -> str:
    """The database in words, without user and password."""
    name = f"the database {given['dbname']}" if given.get("dbname") else "the database"
    host = given.get("host") or given.get("hostaddr") or given.get("service") or "this machine"
    return f"{name} on {host}{':' + given['port'] if given.get('port') else ''}"


def _ambiguous(text: str) -> bool:
    """libpq takes what follows the first @ or / of a URL for the host, and shows it."""
    scheme, separator, rest = text.partition("://")
    if not separator or scheme not in ("postgresql", "postgres"):
        return False
    authority, _, path = rest.partition("?")[0].partition("/")
    return authority.count("@") > 1 or "@" in path
