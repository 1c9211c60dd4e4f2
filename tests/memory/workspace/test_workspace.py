"""Linked repositories answer together, and one that cannot is named while the rest answers."""

import os
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from bankml.embedders import Embedder, choose
from bankml.errors import UnavailableError
from bankml.library.search.searcher import Searcher
from bankml.memory.recall.recalled import Recalled
from bankml.memory.recall.recaller import Recaller
from bankml.memory.workspace import links, peer
from bankml.memory.workspace.workspace import Workspace
from bankml.store import Store
from tests.memory.remembered import record, remember

RECORDS = [
    record(1, "Sessions expire", "A token lives for an hour.", "src/token.py", root=b"/a"),
    record(2, "Bread", "Bread is baked from flour in an oven."),
    record(3, "The boiler", "The heating's boiler wants a pressure of 1.5 bar."),
    record(4, "Backups", "Every night the database is copied to another machine."),
    record(5, "Log in", "Who logs in gets a token that must be kept secret."),
    record(6, "Rollback", "A release is undone by going back to the release before."),
]
QUERY = "how long does a login token last?"


@pytest.fixture
def ask(minilm_embedder: Embedder) -> Callable[..., Recalled]:
    """What a workspace answers; with patience for a machine that is busy."""

    def ask(store: Store, query: str = QUERY, patience: float = 30, **options) -> Recalled:
        with closing(Workspace(store, Searcher(store, lambda: minilm_embedder), patience=patience)) as workspace:
            return workspace.recall(query, **options)

    return ask


def ids(found: Recalled) -> list[str]:
    return [one.record.id for one in found.results]


def test_five_stores_answer_by_meaning_as_one_that_holds_all(make, ask):
    whole = make("whole", *RECORDS)
    own, *others = [make(f"r{number}", *RECORDS[number::5]) for number in range(5)]
    for other in others:
        links.add(own, other.path)
    apart, together = ask(whole, mode="meaning"), ask(own, mode="meaning")
    assert ids(together) == ids(apart)
    assert len(ids(together)) == len(RECORDS)
    assert [one.cosine for one in together.results] == [one.cosine for one in apart.results]
    assert together.status.startswith("6 of 6 records")
    assert "with r1, r2, r3, r4" in together.status


def test_results_of_a_peer_say_whose_they_are_and_are_not_calibrated(make, ask):
    own, other = make("own", *RECORDS[1:3]), make("api", *RECORDS[:1], *RECORDS[4:5])
    alone = ask(own)
    links.add(own, other.path)
    found = ask(own)
    assert [(one.record.id, one.repository) for one in found.results[:2]] == [
        (RECORDS[0].id, "api"),
        (RECORDS[4].id, "api"),
    ]
    assert {one.score for one in found.results} == {"uncalibrated (layered namespaces)"}
    assert all(one.cosine is not None for one in found.results)
    assert all(one.weak is not None for one in found.results)
    assert all(isinstance(one.score, float) for one in alone.results)


def test_links_are_mutual_and_words_alone_work(make, ask):
    own, other = make("own", RECORDS[1]), make("api", RECORDS[0])
    assert links.add(own, other.path).mutual
    assert ids(ask(other, "bread", mode="words")) == [RECORDS[1].id]
    assert ask(other, "bread", mode="words").results[0].score == "uncalibrated (lexical-only)"


def test_a_record_that_is_in_two_stores_is_shown_once_as_ones_own(make, ask):
    own, other = make("own", RECORDS[0]), make("api", replace(RECORDS[0], title="Theirs"), RECORDS[1])
    links.add(own, other.path)
    found = ask(own)
    assert ids(found).count(RECORDS[0].id) == 1
    (mine,) = [one for one in found.results if one.record.id == RECORDS[0].id]
    assert (mine.repository, mine.record.title) == ("", RECORDS[0].title)


def test_sessions_stay_in_their_own_repository(make, ask):
    theirs = replace(RECORDS[0], namespace="session", session="s")
    own, other = make("own", replace(RECORDS[4], namespace="session", session="s")), make("api", theirs, RECORDS[1])
    links.add(own, other.path)
    found = ask(own, session="s")
    assert RECORDS[4].id in ids(found)
    assert theirs.id not in ids(found)


def test_without_peers_nobody_is_asked(make, ask, monkeypatch):
    monkeypatch.setattr(peer.Linked, "ask", lambda *_: pytest.fail("somebody was asked"))
    assert ids(ask(make("own", *RECORDS[:2])))[0] == RECORDS[0].id


def test_what_is_missing_is_named_and_the_rest_answers(make, ask):
    own, gone, api = make("own", RECORDS[1]), make("gone", RECORDS[3]), make("api", RECORDS[0])
    for other in (gone, api):
        links.add(own, other.path)
    gone.close()
    gone.path.unlink()
    found = ask(own)
    assert ids(found)[0] == RECORDS[0].id
    assert "with api" in found.status
    assert f"without gone: there is no knowledge base at {gone.path}" in found.status


def test_another_programs_database_is_named(make, ask):
    own, other = make("own", RECORDS[1]), make("api", RECORDS[0])
    links.add(own, other.path)
    other.close()
    other.path.unlink()
    with closing(sqlite3.connect(other.path)) as db:
        db.execute("CREATE TABLE theirs (id)")
        db.commit()
    found = ask(own)
    assert ids(found) == [RECORDS[1].id]
    assert "without api: " in found.status
    assert other.path.stat().st_size < 10_000  # and it is as it was


@contextmanager
def holding(path: Path) -> Iterator[None]:
    """Another process that lets nobody else at a database."""
    script = (
        "import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); db.execute('PRAGMA locking_mode = EXCLUSIVE'); "
        "db.execute('PRAGMA journal_mode = DELETE'); db.execute('BEGIN EXCLUSIVE'); print('held', flush=True); "
        "sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, os.fspath(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        try:
            assert process.stdout
            assert process.stdout.readline() == b"held\n"
            yield
        finally:
            process.kill()


def test_one_that_another_process_holds_is_not_waited_for(make, ask):
    own, other = make("own", RECORDS[1]), make("api", RECORDS[0])
    links.add(own, other.path)
    other.close()
    with holding(other.path):
        start = time.monotonic()
        found = ask(own, patience=1)
        assert time.monotonic() - start < 30  # SQLite would wait for 60
    assert ids(found) == [RECORDS[1].id]
    assert "without api: it does not answer" in found.status


def test_one_that_hangs_is_asked_by_one_thread_and_comes_back(make, minilm_embedder, monkeypatch):
    own, other = make("own", RECORDS[1]), make("api", RECORDS[0])
    links.add(own, other.path)
    go = threading.Event()
    opened = peer._Opened.of
    begun = []

    def slow(path: Path) -> peer._Opened:
        begun.append(path)
        go.wait(60)
        return opened(path)

    linked = peer.Linked.__init__
    monkeypatch.setattr(peer.Linked, "__init__", lambda self, of: linked(self, of, slow))
    with closing(Workspace(own, Searcher(own, lambda: minilm_embedder), patience=0.5)) as workspace:
        assert "without api: it does not answer" in workspace.recall(QUERY).status
        assert "without api: it still does not answer" in workspace.recall(QUERY).status
        assert len(begun) == 1
        go.set()
        workspace._patience = 30
        until = time.monotonic() + 30
        while "with api" not in (found := workspace.recall(QUERY)).status and time.monotonic() < until:
            time.sleep(0.05)
    assert ids(found)[0] == RECORDS[0].id


def test_one_on_another_profile_is_named_and_left_out(make, ask, small):
    other_model = choose(name=str(small))
    own, other = make("own", RECORDS[1]), make("api", RECORDS[0], embedder=other_model)
    links.add(own, other.path)
    found = ask(own)
    assert ids(found) == [RECORDS[1].id]
    assert "without api: is on another profile" in found.status
    assert ids(ask(own, "token", mode="words")) == [RECORDS[0].id]  # words can be compared
    other_model.close()


def test_one_without_vectors_answers_by_words(make, ask):
    own, other = make("own", RECORDS[1]), make("api", RECORDS[0], embedder=None)
    links.add(own, other.path)
    found = ask(own, "token")
    assert RECORDS[0].id in ids(found)
    assert "with api" in found.status


def test_one_that_comes_goes_and_changes_is_followed(make, minilm_embedder):
    own, other = make("own", RECORDS[1]), make("api", RECORDS[0])
    with closing(Workspace(own, Searcher(own, lambda: minilm_embedder), patience=30)) as workspace:
        assert ids(workspace.recall(QUERY)) == [RECORDS[1].id]
        links.add(own, other.path)
        assert ids(workspace.recall(QUERY))[0] == RECORDS[0].id
        remember(other, minilm_embedder, RECORDS[4])
        assert RECORDS[4].id in ids(workspace.recall(QUERY))
        links.remove(own, "api")
        assert ids(workspace.recall(QUERY)) == [RECORDS[1].id]


def test_without_its_own_model_words_answer_everywhere(make):
    def nobody() -> Embedder:
        raise UnavailableError("the model is not here: pull it")

    own, other = make("own", RECORDS[1]), make("api", RECORDS[0])
    links.add(own, other.path)
    with closing(Workspace(own, Searcher(own, nobody), patience=30)) as workspace:
        found = workspace.recall("token")
    assert ids(found) == [RECORDS[0].id]
    assert "the model is not here" in found.status


def test_a_recaller_alone_asks_no_peer(make, minilm_embedder):
    own, other = make("own", RECORDS[1]), make("api", RECORDS[0])
    links.add(own, other.path)
    assert ids(Recaller(Searcher(own, lambda: minilm_embedder)).recall(QUERY)) == [RECORDS[1].id]
