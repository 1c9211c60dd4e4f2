"""A peer is asked in threads of its own: whatever happens there, the answer comes in time and says what happened."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from shutil import copytree

import pytest

from bankml.embedders import Embedder
from bankml.library.search.searcher import Searcher
from bankml.memory import freshness
from bankml.memory.workspace import links, peer
from bankml.memory.workspace.states import states
from bankml.memory.workspace.workspace import Workspace
from bankml.store import Record, Store
from tests.memory.remembered import record, remember

MINE = record(1, "Bread", "Bread is baked from flour in an oven.")
THEIRS = record(2, "Sessions expire", "A token lives for an hour.", "src/token.py", root=b"/api")
QUERY = "how long does a login token last?"
LONG = 30.0  # seconds: a machine that is busy needs no more
SHORT = 0.3


@pytest.fixture
def pair(make: Callable[..., Store]) -> tuple[Store, Store]:
    """A store and its peer, `api`."""
    own, other = make("own", MINE), make("api", THEIRS)
    links.add(own, other.path)
    return own, other


@pytest.fixture
def workspace(minilm_embedder: Embedder) -> Callable[..., closing[Workspace]]:
    def workspace(store: Store, patience: float = LONG, **options) -> closing[Workspace]:
        return closing(Workspace(store, Searcher(store, lambda: minilm_embedder), patience=patience, **options))

    return workspace


@contextmanager
def held(monkeypatch: pytest.MonkeyPatch, place: object, name: str) -> Iterator[list[threading.Thread]]:
    """Whoever calls it there waits until the block ends; the threads that do."""
    go, waiting, was = threading.Event(), [], getattr(place, name)

    def slow(*given):
        waiting.append(threading.current_thread())
        go.wait(LONG + 5)
        return was(*given)

    with monkeypatch.context() as patched:
        patched.setattr(place, name, slow)
        try:
            yield waiting
        finally:
            go.set()


def until(true: Callable[[], bool]) -> bool:
    """Whether it is, in the end."""
    end = time.monotonic() + LONG
    while not (found := true()) and time.monotonic() < end:
        time.sleep(0.02)
    return found


def descriptors(path: Path) -> int:
    """How often this process has the file open."""
    found = 0
    for one in Path("/proc/self/fd").iterdir():
        try:
            found += os.readlink(one) == os.fspath(path)
        except OSError:  # closed meanwhile
            continue
    return found


def test_a_page_that_takes_too_long_is_not_waited_for(pair, workspace, monkeypatch):
    own, _ = pair
    with held(monkeypatch, peer, "_page") as waiting, workspace(own, SHORT) as asked:
        start = time.monotonic()
        found = asked.recall(QUERY)
        assert time.monotonic() - start < LONG
        assert [one.record.id for one in found.results] == [MINE.id]
        assert "without api: it does not answer" in found.status
        assert len(waiting) == 1


def test_files_that_a_peers_records_cite_are_looked_at_by_its_own_thread(pair, workspace):
    own, _ = pair
    by: dict[str, threading.Thread] = {}

    def seen(one: Record) -> str:
        by[one.id] = threading.current_thread()
        return "needs_review"

    with workspace(own, seen=seen) as asked:
        found = asked.recall(QUERY)
    assert {one.record.id: one.freshness for one in found.results} == {
        MINE.id: "needs_review",
        THEIRS.id: "needs_review",
    }
    assert by[MINE.id] is threading.current_thread()
    assert by[THEIRS.id] is not threading.current_thread()


def test_cited_files_that_hang_are_not_waited_for(pair, workspace, monkeypatch):
    own, _ = pair
    own_thread = threading.current_thread()
    go = threading.Event()

    def seen(one: Record) -> str:
        if threading.current_thread() is own_thread and one.id == THEIRS.id:
            pytest.fail("the asker looked")
        if one.id == THEIRS.id:
            go.wait(LONG + 5)
        return freshness.seen(one)

    with workspace(own, SHORT, seen=seen) as asked:
        found = asked.recall(QUERY)
        go.set()
    assert [one.record.id for one in found.results] == [MINE.id]
    assert "without api: the files that its records cite take too long to look at" in found.status


def test_queries_at_once_are_all_answered_by_a_peer_that_is_well(pair, workspace):
    own, _ = pair
    with workspace(own) as asked, ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: asked.recall(QUERY), range(80)))
    assert all("with api" in one.status for one in found)
    assert {one.results[0].record.id for one in found} == {THEIRS.id}


def test_one_that_hangs_is_asked_again_only_when_it_has_answered(pair, workspace, monkeypatch):
    own, _ = pair
    with workspace(own, SHORT) as asked:
        with held(monkeypatch, peer, "_page") as waiting:
            assert "it does not answer" in asked.recall(QUERY).status
            for _ in range(5):
                start = time.monotonic()
                assert "without api: it still does not answer" in asked.recall(QUERY).status
                assert time.monotonic() - start < LONG
            assert len(waiting) == 1
        asked._patience = LONG
        assert until(lambda: "with api" in asked.recall(QUERY).status)


def test_a_thread_that_cannot_be_begun_is_told_and_tried_again(pair, workspace, monkeypatch):
    own, _ = pair

    def start(self) -> None:
        raise RuntimeError("can't start new thread")

    with workspace(own) as asked:
        with monkeypatch.context() as patched:
            patched.setattr(threading.Thread, "start", start)
            found = asked.recall(QUERY, mode="words")
        assert "without api: no thread can be begun" in found.status
        assert "with api" in asked.recall(QUERY).status


def test_whatever_fails_in_a_peers_thread_is_one_sentence(pair, workspace, monkeypatch):
    own, _ = pair

    def page(*_):
        raise ValueError("Expecting property\nname\x1b[31m")

    monkeypatch.setattr(peer, "_page", page)
    with workspace(own) as asked:
        found = asked.recall(QUERY)
    assert "without api: it cannot be read (ValueError: Expecting property name\ufffd[31m)" in found.status


def test_a_damaged_row_of_a_peer_is_told(pair, workspace, capfd):
    own, other = pair
    with other.writing() as db:
        db.execute("UPDATE records SET provenance = '{'")
    with workspace(own) as asked:
        found = asked.recall(QUERY)
    assert [one.record.id for one in found.results] == [MINE.id]
    assert "without api: " in found.status
    assert "does not answer" not in found.status
    assert "Traceback" not in capfd.readouterr().err


def test_a_store_that_took_a_peers_place_is_not_asked_under_its_name(make, pair, workspace, tmp_path):
    own, other = pair
    third = make("third", record(3, "Tokens", "A login token lasts a year."))
    with workspace(own) as asked:
        assert "with api" in asked.recall(QUERY).status
        for store in (third, other):
            store.close()
        other.path.parent.rename(tmp_path / "away")
        third.path.parent.rename(other.path.parent)
        found = asked.recall(QUERY)
        assert [one.record.id for one in found.results] == [MINE.id]
        assert "without api: another knowledge base lies there now: add it again" in found.status
        (state,) = states(own)
        assert (state.state, f"without api: {state.why}" in found.status) == ("another store", True)
        links.add(own, other.path)
        assert "with api" in asked.recall(QUERY).status


def test_a_peer_that_is_replaced_by_a_copy_of_itself_answers_as_the_copy(pair, workspace, minilm_embedder, tmp_path):
    own, other = pair
    other.close()
    copied = tmp_path / "copied"
    copytree(other.path.parent, copied)
    more = record(4, "Log in", "Who logs in gets a token that must be kept secret.")
    with Store.open(copied / other.path.name) as store:
        remember(store, minilm_embedder, more)
    with workspace(own) as asked:
        assert "with api" in asked.recall(QUERY).status
        other.path.parent.rename(tmp_path / "away")
        copied.rename(other.path.parent)
        assert more.id in [one.record.id for one in asked.recall(QUERY).results]


def test_a_removed_peer_is_let_go_of(pair, workspace):
    own, other = pair
    other.close()
    with workspace(own) as asked:
        asked.recall(QUERY)
        assert descriptors(other.path) > 0
        links.remove(own, "api")
        asked.recall(QUERY)
        assert descriptors(other.path) == 0


def test_peers_are_let_go_of_at_the_end(pair, workspace):
    own, other = pair
    other.close()
    with workspace(own) as asked:
        asked.recall(QUERY)
        assert descriptors(other.path) > 0
    assert descriptors(other.path) == 0


def test_a_busy_peer_is_let_go_of_when_it_has_answered(pair, workspace, monkeypatch):
    own, other = pair
    other.close()
    with held(monkeypatch, peer, "_page"):
        with workspace(own, SHORT) as asked:
            asked.recall(QUERY)
        assert descriptors(other.path) > 0
    assert until(lambda: descriptors(other.path) == 0)
