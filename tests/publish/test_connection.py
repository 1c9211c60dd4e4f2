"""A database that is not there, does not let us in, or goes away: one sentence each, and nothing is lost."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from bankml import InputError, StoreError
from bankml.publish import lock, publish, status
from bankml.publish.connection import connect
from bankml.publish.dsn import parameters, place
from bankml.settings import Settings
from tests.postgres import GUARDED, rows

SECRET = "hunter2hunter2"
THREE = [("one", "1"), ("two", "2"), ("three", "3")]


def refused(dsn: str | None) -> str:
    """The sentence."""
    with pytest.raises((StoreError, InputError)) as caught:
        status(dsn)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert caught.value.__context__ is None or caught.value.__suppress_context__
    return sentence


def test_where_nothing_listens(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        assert f"127.0.0.1:{port}: nothing listens there" in refused(f"host=127.0.0.1 port={port} dbname=x")
    assert "nothing listens there" in refused(f"host={tmp_path} dbname=x")
    assert "no such host is known" in refused("postgresql://ada@nonesuch.invalid/x")


def test_a_database_or_a_role_that_is_not_there(postgres):
    assert "no such database; make it with `createdb nonesuch`" in refused(postgres.dsn("nonesuch"))
    assert "knows no role nobody-such; make it" in refused(postgres.dsn("postgres", user="nobody-such"))


def test_a_password_that_is_wrong_or_missing(postgres):
    rows(postgres.dsn("postgres"), f"CREATE ROLE {GUARDED} LOGIN PASSWORD '{SECRET}'")
    dsn = postgres.dsn("postgres", user=GUARDED)
    assert "the server asks for a password; put it into ~/.pgpass" in refused(dsn)
    wrong = refused(f"{dsn} password={SECRET}x")
    assert "the password is wrong" in wrong
    assert SECRET not in wrong
    assert status(f"{dsn} password={SECRET}")["agents"] == []


def test_a_role_that_may_not_connect_again(postgres):
    rows(postgres.dsn("postgres"), "CREATE ROLE crowded LOGIN CONNECTION LIMIT 0")
    assert "takes no more connections; try again later" in refused(postgres.dsn("postgres", user="crowded"))


def test_a_server_that_says_nothing():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        assert "does not answer" in refused(f"host=127.0.0.1 port={port} dbname=x connect_timeout=2")


def test_a_server_of_another_kind():
    with socket.create_server(("127.0.0.1", 0)) as other:

        def answer():
            connection, _ = other.accept()
            connection.recv(100)
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            connection.close()

        thread = threading.Thread(target=answer)
        thread.start()
        assert "127.0.0.1" in refused(f"host=127.0.0.1 port={other.getsockname()[1]} dbname=x sslmode=disable")
        thread.join()


@pytest.mark.parametrize(
    "dsn",
    [
        f"postgresql://ada:p@{SECRET}@127.0.0.1:1/x",
        f"postgresql://ada:p/{SECRET}@127.0.0.1:1/x",
        f"postgresql://ada:{SECRET}@127.0.0.1:1/x",
        f"postgresql://ada:{SECRET}@127.0.0.1:port/x",
        f"postgresql://ada:{SECRET}@127.0.0.1:1/x?nonesuch=1",
        f"host=127.0.0.1 port=1 password={SECRET}",
        f"host=127.0.0.1 port=1 password=two {SECRET}",
        f"host=127.0.0.1 port=1 password=two {SECRET}=x",
        f"host=127.0.0.1 port=1 password='{SECRET}",
        f"postgresql://{SECRET}",
        SECRET,
    ],
)
def test_no_password_is_shown(dsn, monkeypatch):
    monkeypatch.setenv("BANKML_PG_DSN", dsn)
    assert SECRET not in repr(Settings.read())
    if dsn.endswith(f"//{SECRET}"):  # a host, and shown as one
        return
    assert SECRET not in refused(None)
    assert SECRET not in refused(dsn)


def test_what_was_sent_is_not_quoted(dsn):
    with pytest.raises(StoreError, match="invalid input syntax for type json") as caught, connect(dsn) as connection:
        connection.execute("SELECT %s::jsonb", (f"[{SECRET}]",))
    assert SECRET not in str(caught.value)


def test_which_database(monkeypatch):
    assert parameters()["dbname"] == "bankml"
    monkeypatch.setenv("BANKML_PG_DSN", "postgresql://ada@db.example:5433/set?connect_timeout=3")
    assert place(parameters()) == "the database set on db.example:5433"
    assert (parameters()["connect_timeout"], parameters("dbname=x")["connect_timeout"]) == ("3", "10")
    assert place(parameters("dbname=given")) == "the database given on this machine"


def test_a_database_that_may_only_be_read(dsn, history, seeded):
    read_only = dsn.replace("options='", "options='-cdefault_transaction_read_only=on ")
    with pytest.raises(StoreError, match="is read-only; publish to the primary"):
        publish(history(*THREE), "ada", include_private=True, dsn=read_only, vectors=seeded())
    assert status(read_only)["tables"] is False


def test_a_role_that_may_not_write(postgres, dsn, history, seeded):
    publish(history(*THREE), "ada", include_private=True, dsn=dsn, vectors=seeded())
    with suppress(psycopg.errors.DuplicateObject):
        rows(dsn, "CREATE ROLE reader LOGIN")
    ((schema,),) = rows(dsn, "SELECT current_schema()")
    rows(dsn, f"GRANT USAGE ON SCHEMA {schema} TO reader")
    rows(dsn, f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO reader")
    theirs = dsn.replace("user=postgres", "user=reader")
    with pytest.raises(StoreError, match="this role may not do that"):
        publish(history(*THREE), "ada", include_private=True, dsn=theirs, vectors=seeded())
    assert status(theirs)["exchanges"] == 3


def test_a_table_that_another_session_holds(dsn, history, seeded, monkeypatch):
    monkeypatch.setattr(lock, "SESSIONS", "100ms")
    monkeypatch.setattr(lock, "PUBLISHERS", "100ms")
    path = history(*THREE)
    publish(path, "ada", include_private=True, dsn=dsn, vectors=seeded())
    for statement in ("LOCK TABLE bankml_exchanges", f"SELECT pg_advisory_xact_lock({lock.KEY})"):
        with psycopg.connect(dsn) as holder:
            holder.execute(statement)
            with pytest.raises(StoreError, match="another session holds the tables"):
                publish(path, "ada", include_private=True, dsn=dsn, vectors=seeded())
    publish(path, "ada", include_private=True, dsn=dsn, vectors=seeded())


def test_tables_of_another_shape(dsn, history, seeded):
    rows(dsn, "CREATE TABLE bankml_agents (slug text PRIMARY KEY)")
    with pytest.raises(StoreError, match="are of another shape"):
        publish(history(*THREE), "ada", include_private=True, dsn=dsn, vectors=seeded())


@pytest.mark.parametrize("how", ["terminated", "cancelled", "cut"])
def test_a_database_that_goes_away_in_the_middle(dsn, history, seeded, how):
    publish(history(*THREE), "ada", include_private=True, dsn=dsn, vectors=seeded())
    before = rows(dsn, "SELECT * FROM bankml_exchanges ORDER BY seq")
    path = history(*THREE * 300, name="long.history")
    act = {"terminated": "pg_terminate_backend", "cancelled": "pg_cancel_backend"}.get(how)
    socket_path = Path(conninfo_to_dict(dsn)["host"]) / ".s.PGSQL.5432"
    with between(socket_path) as (folder, cut):

        class Meanwhile(seeded):
            def of(self, record):
                if self.asked == 900 + 500:
                    if act is None:
                        cut()
                    else:
                        mine = "SELECT {}(pid) FROM pg_stat_activity WHERE application_name = 'bankml' AND datname = {}"
                        rows(dsn, mine.format(act, "current_database()"))
                return super().of(record)

        through = dsn.replace(f"host={socket_path.parent}", f"host={folder}")
        with pytest.raises(StoreError) as caught:
            publish(path, "ada", include_private=True, dsn=through, vectors=Meanwhile())
    assert ("ended the work" if how == "cancelled" else "went away meanwhile") in str(caught.value)
    assert rows(dsn, "SELECT * FROM bankml_exchanges ORDER BY seq") == before
    assert publish(path, "ada", include_private=True, dsn=dsn, vectors=seeded()).exchanges == 900


@contextmanager
def between(target: Path) -> Iterator[tuple[Path, object]]:
    """A folder with a socket that passes everything on to `target`, and what cuts it."""
    folder = target.parent.parent / f"between-{threading.get_ident()}"
    folder.mkdir()
    ends: list[socket.socket] = []

    def cut() -> None:
        for end in ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def pump(source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
        cut()

    def serve(listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                ours, _ = listener.accept()
                theirs = socket.socket(socket.AF_UNIX)
                theirs.connect(str(target))
                ends.extend((ours, theirs))
                for pair in ((ours, theirs), (theirs, ours)):
                    threading.Thread(target=pump, args=pair, daemon=True).start()

    path = folder / target.name
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()
    threading.Thread(target=serve, args=(listener,), daemon=True).start()
    try:
        yield folder, cut
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        cut()
        for end in ends:
            end.close()
        path.unlink()
        folder.rmdir()


def test_a_dsn_that_is_no_text():
    with pytest.raises(InputError, match="the DSN cannot be read"):
        parameters("dbname=\udcff")
