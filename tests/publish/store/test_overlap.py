"""What is asked to compare the answers of a store and of a database: nothing that the database must not know."""

import psycopg
import pytest

from bankml.publish.store.choice import Choice
from bankml.publish.store.overlap import overlaps
from bankml.publish.store.publishing import publish
from tests.memory.remembered import record, remember

SECRET = "xyzzyplugh"


@pytest.fixture
def asked(monkeypatch):
    """All that a server is told from now on."""
    found, execute = [], psycopg.Connection.execute

    def told(connection, query, params=None, **more):
        found.append(repr((query, params)))
        return execute(connection, query, params, **more)

    monkeypatch.setattr(psycopg.Connection, "execute", told)
    return found


@pytest.mark.parametrize(
    ("choice", "documents"), [(Choice(), 1), (Choice(documents=False), 0), (Choice(paths=("**/moon.md",)), 1)]
)
def test_nothing_is_asked_that_is_not_published(dsn, filled, tiny, added, asked, choice, documents):
    remember(
        filled,
        tiny,
        record(0x20, f"{SECRET} of a session", f"{SECRET} once.", namespace="session", session="s"),
        record(0x21, f"The token is {SECRET}", f"The cache keeps {SECRET} on the roof.", tags=("private",)),
    )
    for path in ("/team/private/a.md", "/team/PRIVATE.md"):
        added(filled, tiny, path, [f"{SECRET} in {path}. The moon orbits {SECRET}."])
    if choice.paths or not choice.documents:
        added(filled, tiny, "/team/docs/left.md", [f"{SECRET} is left out. The moon orbits {SECRET}."])
    done = publish(filled, choice, dsn, allowed=["unknown"])
    found = overlaps(filled, choice, done.name, dsn, model=str(tiny.reference))
    told = "\n".join(asked)
    assert SECRET not in told
    assert "rec_0000000000000021" not in told
    assert "flour" in told
    assert (found["records"].mean, found["records"].queries > 10) == (1.0, True)
    assert bool(found["documents"].queries) == bool(documents)
