"""What happens beside a server: its model and its store go and come, others write, it is killed."""

import os
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bankml.library.upkeep import doctor
from bankml.settings import Settings
from bankml.store import Store, assertions, records
from tests.mcp.agents import connected, environment, listening, over_stdio, wired

FACT = {"title": "Harbour", "content": "The ferry leaves from the north pier at nine."}


@pytest.fixture
def model(own: Path, minilm: Path) -> Path:
    """MiniLM's file, of this test alone."""
    place = own / "models" / minilm.name
    place.unlink()
    shutil.copy(minilm, place)
    return place


def command(home: Path, *words: str) -> subprocess.CompletedProcess:
    line = [sys.executable, "-m", "bankml", *words]
    return subprocess.run(line, env=os.environ | environment(home), capture_output=True, text=True, timeout=240)


@pytest.mark.parametrize("keep_alive", ["0", "1h"])
def test_a_model_that_is_deleted_leaves_words_and_comes_back(own: Path, model: Path, keep_alive: str) -> None:
    """One that is in memory stays until its time is over."""
    with connected(over_stdio(own, BANKML_EMBED_KEEP_ALIVE=keep_alive)) as agent:
        agent.answer("remember", **FACT)
        assert "embedded)" in agent.answer("query", query="where do ships start?")["status"]
        away = model.rename(model.with_suffix(".away"))
        by_meaning = keep_alive == "1h"
        for tool in ("query", "search"):
            found = agent.answer(tool, query="which pier has the ferry?")
            assert found["results"]
            assert ("embedded)" in found["status"]) == by_meaning
            assert by_meaning or "is gone" in found["status"]
        written = agent.answer("remember", title="Later", content=f"Written without a model {keep_alive}.")
        assert (written["embedded"], bool(written["status"])) == ((1, False) if by_meaning else (0, True))
        away.rename(model)
        assert "embedded)" in agent.answer("query", query="when does the boat go?")["status"]
        assert agent.answer("remember", title="Back", content=f"Written with it again {keep_alive}.")["embedded"] == 1


def test_a_model_that_is_truncated_while_it_is_in_memory_leaves_words_and_comes_back(own: Path, model: Path) -> None:
    with connected(over_stdio(own)) as agent:
        agent.answer("remember", **FACT)
        assert "embedded)" in agent.answer("query", query="where do ships start?")["status"]
        whole = model.with_suffix(".whole")
        shutil.copy(model, whole)
        os.truncate(model, 2**20)
        found = agent.answer("query", query="which pier has the ferry?")
        assert found["results"][0]["title"] == "Harbour"
        assert "BM25 (FTS5) alone: " in found["status"]
        whole.replace(model)
        assert "embedded)" in agent.answer("query", query="when does the boat go?")["status"]


def test_another_model_than_the_stores(own: Path) -> None:
    """Documents are not searched with it; what is remembered answers by its words."""
    with connected(over_stdio(own, "--model", "multilingual-e5-small")) as agent:
        assert agent.refusal("search", query="heating").startswith("Model mismatch: DB uses 'all-MiniLM-L6-v2'")
        written = agent.answer("remember", **FACT)
        assert (written["embedded"], written["status"][:14]) == (0, "Model mismatch")
        found = agent.answer("query", query="which pier?")
        assert found["results"][0]["score"] == "uncalibrated (lexical-only)"
        assert "alone: Model mismatch" in found["status"]
        assert "alone: Model mismatch" in agent.answer("context", query="which pier?")["status"]


def test_a_store_that_is_deleted_and_another_that_takes_its_place(own: Path, tmp_path: Path) -> None:
    with connected(over_stdio(own)) as agent:
        first = agent.answer("remember", **FACT)["id"]
        away = tmp_path / "away"
        away.mkdir()
        for file in own.glob("kb.db*"):
            file.rename(away / file.name)
        assert "there is no memory at" in agent.refusal("query", query="pier")
        assert "there is no memory at" in agent.refusal("search", query="pier")
        second = agent.answer("remember", **FACT)["id"]
        assert [each["id"] for each in agent.answer("query", query="pier")["results"]] == [second]
        for file in own.glob("kb.db*"):
            file.unlink()
        for file in away.iterdir():
            file.rename(own / file.name)
        assert [each["id"] for each in agent.answer("query", query="pier")["results"]] == [first]
        (tmp_path / "text").write_bytes(b"no database" * 100)
        os.replace(tmp_path / "text", own / "kb.db")
        assert "is no knowledge base" in agent.refusal("query", query="pier")


def test_a_reindex_to_another_model_meanwhile(own: Path) -> None:
    with connected(over_stdio(own)) as agent, ThreadPoolExecutor(1) as thread:
        agent.answer("remember", **FACT)
        reindex = thread.submit(command, own, "reindex", "--model", "multilingual-e5-small")
        said = set()
        for n in range(10_000):
            found = agent.answer("query", query=f"which pier is it {n}")
            assert found["results"][0]["title"] == "Harbour"
            said.add(found["status"].partition(" (meaning")[0])
            if reindex.done():
                break
        assert reindex.result().returncode == 0, reindex.result().stderr
        assert agent.answer("remember", title="After", content="Written after the change.")["embedded"] == 1
        assert command(own, "reindex", "--model", "all-MiniLM-L6-v2").returncode == 0  # and nothing is asked meanwhile
        assert agent.answer("remember", title="Again", content="Written after another.")["embedded"] == 1
        assert "all-MiniLM-L6-v2 (meaning, 3 of 3" in agent.answer("query", query="and now")["status"]
        assert len(said) <= 2


def test_clients_of_one_server_and_of_several_write_and_ask_at_once(own: Path) -> None:
    def work(to: object, name: str) -> list[str]:
        with connected(to, name=name) as agent:
            made = [
                agent.answer("remember", title=f"{name} {n}", content=f"Item {n} of {name}.")["id"] for n in range(8)
            ]
            for n, id in enumerate(made):
                assert agent.answer("query", query=f"{name} item {n} {id}", n=1)["results"][0]["id"] == id
            return made

    with listening(own) as (address, _), ThreadPoolExecutor(3) as threads:
        asked = [(address, "alpha"), (address, "beta"), (over_stdio(own), "gamma")]
        made = [id for ids in threads.map(lambda each: work(*each), asked) for id in ids]
    assert len(set(made)) == 24
    with Store.open(own / "kb.db") as store, store.reading() as db:
        found = records.several(db, made)
        assert {record.provenance["client"] for record in found} == {"alpha", "beta", "gamma"}


@pytest.mark.parametrize("answered", [0, 7])
def test_killed_while_it_remembers_the_store_is_whole(own: Path, answered: int) -> None:
    """What was answered is there; what was not is there whole, or not at all."""
    with wired(own) as wire:
        wire.greet()
        wire.call("remember", **FACT)
        for n in range(20):
            given = {"title": f"Item {n}", "content": f"What is known of {n}. " * 40}
            wire.begin("tools/call", name="remember", arguments=given)
        made = [wire.line()["result"]["structuredContent"]["id"] for _ in range(answered)]
        wire.process.send_signal(signal.SIGKILL)
        wire.process.wait()
    with Store.open(own / "kb.db") as store, store.reading() as db:
        assert len(records.several(db, made)) == answered
        for (id,) in db.execute("SELECT id FROM records").fetchall():
            assert assertions.of(db, id)
            assert records.chunk_ids(db, id)
    wrong = {found.check for found in doctor.examine(own / "kb.db", Settings.read()) if not found.ok}
    assert wrong <= {"model", "coverage"}  # there is none in this process's home; some had no time for theirs
    with connected(over_stdio(own)) as agent:
        assert agent.answer("query", query="ferry")["results"][0]["title"] == "Harbour"


def test_a_client_that_goes_away_while_it_is_remembered(own: Path) -> None:
    """What was asked is done."""
    with wired(own) as wire:
        wire.greet()
        wire.begin("tools/call", name="remember", arguments=FACT)
        wire.process.stdin.close()
        wire.process.stdout.close()
        assert wire.process.wait(120) == 0
    with Store.open(own / "kb.db") as store, store.reading() as db:
        assert records.count(db) == 1
