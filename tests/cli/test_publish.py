"""`bankml publish` and `bankml publish status`, into a real PostgreSQL."""

import json
import sys

import numpy as np
import pytest

from bankml.cache import Cache, key
from tests.postgres import rows

THREE = [("why is the sky blue?", "Rayleigh."), ("and the sea?", "It mirrors."), ("und der Mond?", "Gar nicht.")]


@pytest.fixture
def history(tmp_path):
    path = tmp_path / "ada.history"
    lines = [json.dumps({"user": user, "assistant": assistant, "ts": 1}) for user, assistant in THREE]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def cached(history, encoder):
    """The first two exchanges have a vector."""
    texts = [f"{user}\n{assistant}" for user, assistant in THREE[:2]]
    Cache(f"{history}.emb").append("all-minilm-l6-v2", encoder.digest, [*map(key, texts)], encoder.encode(texts))
    return history


def test_lines_and_vectors_those_of_the_cache_and_those_that_were_missing(here, dsn, cached, encoder, stocked_home):
    arguments = ("publish", "--history", str(cached), "--agent", "ada", "--include-private", "--dsn", dsn)
    arguments += ("--model", "all-minilm")
    would = here(*arguments, "--dry-run", "--json").out.lines[0]
    assert (would["embedded"], "embed 1 exchanges first" in str(would["would"])) == (2, True)
    assert (would["dry_run"], would["exchanges"], rows(dsn, "SELECT to_regclass('bankml_agents')")) == (
        True,
        3,
        [(None,)],
    )
    done = here(*arguments, "--json", "--name", "Ada")
    assert (done.status, len(done.out.lines)) == (0, 1)
    found = done.out.lines[0]
    assert (found["exchanges"], found["embedded"]) == (3, 3)
    assert found["embedding"] == f"3 of 3 exchanges embedded with all-minilm-l6-v2 ({encoder.digest[:8]}…)"
    stored = rows(dsn, "SELECT embedding::real[] FROM bankml_exchanges ORDER BY seq")
    wanted = encoder.encode([f"{user}\n{assistant}" for user, assistant in THREE])
    assert np.allclose(np.array([row[0] for row in stored], np.float32), wanted, atol=1e-6)
    for line in here(*arguments).out.decode().splitlines():
        assert line.split(": ")[0] in ("agent", "database", "exchanges", "embedded", "index")
    shown = here("publish", "status", "--dsn", dsn, "--json").out.lines[0]
    assert (shown["dims"], shown["index"], shown["exchanges"]) == (384, "hnsw", 3)
    assert shown["extensions"].keys() == {"vector", "vectorscale"}
    assert [(agent["slug"], agent["name"], agent["exchanges"]) for agent in shown["agents"]] == [("ada", "Ada", 3)]
    assert here("publish", "--dsn", dsn, "--json", "status").out.lines[0] == shown
    plain = here("publish", "status", "--dsn", dsn).out.decode()
    assert "384 numbers each" in plain
    assert "all-minilm-l6-v2" in plain


def test_without_private_lines(here, dsn, history):
    done = here("publish", "--history", str(history), "--agent", "ada", "--dsn", dsn)
    assert done.status == 0
    assert b"embedded: no exchange was published: the lines are private" in done.out
    assert rows(dsn, "SELECT count(*) FROM bankml_exchanges") == [(0,)]


def test_lines_that_are_no_exchanges_are_shown(here, dsn, history):
    with history.open("a") as file:
        file.write('{"note": "x"}\n')
    arguments = ("--history", str(history), "--agent", "ada", "--include-private", "--dsn", dsn, "--model", "bge-m3")
    assert b"\nexchanges: 3 in 4 lines\nembedded: 0 of 3 exchanges" in here("publish", *arguments).out
    assert "0 of 3 exchanges in 4 lines\n" in here("publish", "status", "--dsn", dsn).out.decode()


def test_without_a_model_the_lines_alone(here, dsn, history):
    arguments = ("--history", str(history), "--agent", "ada", "--include-private", "--dsn", dsn, "--model", "bge-m3")
    found = here("publish", *arguments, "--json").out.lines[0]
    assert (found["exchanges"], found["embedded"]) == (3, 0)
    assert found["embedding"].startswith("0 of 3 exchanges embedded: bge-m3 is not on this machine")


def test_the_database_of_the_environment(here, dsn, monkeypatch):
    monkeypatch.setenv("BANKML_PG_DSN", dsn)
    assert here("publish", "status", "--json").out.lines[0]["agents"] == []
    assert b"no column for them" in here("publish", "status").out


def test_options_that_are_missing(here, history):
    for arguments, wrong in (((), "--history"), (("--history", str(history)), "--agent")):
        done = here("publish", *arguments)
        assert (done.status, done.out) == (2, b"")
        assert f"Missing option '{wrong}'" in done.err.decode()
    assert b"--json" in here("publish", "--help").out
    assert b"--json" in here("publish", "status", "--help").out


def test_failures_are_one_sentence_and_show_no_password(here, command, history, tmp_path):
    dsn = f"host={tmp_path} dbname=x password=hunter2"
    for run, arguments in ((here, ("--history", str(history), "--agent", "ada")), (command, ("status",))):
        plain = run("publish", *arguments, "--dsn", dsn)
        assert (plain.status, plain.out, plain.err.count(b"\n")) == (1, b"", 1)
        assert b"nothing listens there" in plain.err
        assert b"hunter2" not in plain.err


def test_packages_that_are_missing(here, history, monkeypatch):
    monkeypatch.setitem(sys.modules, "pgvector.psycopg", None)
    done = here("publish", "--history", str(history), "--agent", "ada")
    assert (done.status, done.err.count(b"\n")) == (1, 1)
    assert b"pip install 'psycopg[binary]>=3.2'" in done.err
