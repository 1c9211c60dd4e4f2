"""What PostgreSQL or the way to it refuses, in one sentence with the remedy: the only place that reads its errors.

Only the first line of a message is shown, never its details: those quote what was sent.
"""

import re

import psycopg

from bankml.errors import StoreError

# Before there is a connection only the text tells what is wrong; a server that speaks another language gets the last.
AT_THE_DOOR = (
    (
        r'database "(.*)" does not exist',
        r"{place}: there is no such database; make it with `createdb \1`, or name another in --dsn",
    ),
    (
        r'role "(.*)" does not exist',
        r"{place}: the server knows no role \1; make it with `createuser \1`, or name another in --dsn",
    ),
    (
        "password authentication failed",
        "{place}: the password is wrong; put the right one into ~/.pgpass or PGPASSWORD",
    ),
    (
        "no password supplied|empty password",
        "{place}: the server asks for a password; put it into ~/.pgpass or PGPASSWORD",
    ),
    (
        "timeout expired",
        "{place}: the server does not answer; check the host, the port and what stands between, then try again",
    ),
    (
        "Connection refused|No such file or directory|No route to host|Network is unreachable",
        "{place}: nothing listens there; start PostgreSQL, or check the host and the port",
    ),
    (
        "could not translate host name|failed to resolve host|Name or service not known",
        "{place}: no such host is known; check its name",
    ),
    (
        "too many (clients|connections)|connection slots",
        "{place}: the server takes no more connections; try again later",
    ),
    (
        "pg_hba.conf|[Pp]eer authentication failed",
        "{place}: the server does not let this user in; check the user, and the server's pg_hba.conf",
    ),
    (
        "starting up|shutting down|recovery mode|not yet accepting",
        "{place}: the server is starting or ending; try again in a moment",
    ),
)
LOST = "{place} went away meanwhile; the old lines or the new ones are there, never some of each: publish again"
OTHER = "{place} refused ({said}); nothing was changed"
# By the beginning of the SQLSTATE, the longer ones first.
BY_STATE = (
    ("25006", "{place} is read-only; publish to the primary, or end its default_transaction_read_only"),
    ("42501", "{place}: this role may not do that ({said}); publish as the owner of the tables, or GRANT it the right"),
    ("55P03", "{place}: another session holds the tables; end it, or try again when it is done"),
    (
        "57014",
        "{place}: the server ended the work ({said}); nothing was changed: try again, "
        "with PGOPTIONS='-c statement_timeout=0' if it took too long",
    ),
    ("53100", "{place}: the server's disk is full; make room there, nothing was changed"),
    ("53", "{place}: the server lacks what it needs ({said}); nothing was changed, try again later"),
    *(
        (state, "{place}: its tables bankml_… are of another shape ({said}); move them away, or take another database")
        for state in ("42P01", "42703", "42804", "23502")
    ),
    *((state, LOST) for state in ("57P", "08")),
)


def refusal(error: psycopg.Error, place: str, connected: bool) -> StoreError:
    """`place`: the database in words."""
    template = _by_state(error) if connected else _at_the_door(str(error))
    return StoreError(template.format(place=place, said=first_line(error)))


def first_line(error: psycopg.Error) -> str:
    """What went wrong, without what it was about."""
    text = error.diag.message_primary or str(error)
    return text.strip().split("\n")[0].removeprefix("connection failed: ")


def _at_the_door(text: str) -> str:
    for pattern, template in AT_THE_DOOR:
        if found := re.search(pattern, text):
            name = re.sub(r"[{}]", "", found.group(1) or "") if found.groups() else ""
            return template.replace(r"\1", name)
    return OTHER


def _by_state(error: psycopg.Error) -> str:
    if not error.sqlstate:  # not the server's own: the connection broke, or was never used rightly
        return LOST if isinstance(error, psycopg.OperationalError) else OTHER
    return next((template for state, template in BY_STATE if error.sqlstate.startswith(state)), OTHER)
