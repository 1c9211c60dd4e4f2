"""`bankml serve --kb` as a process: its own model beside the served one, clients, and what goes on meanwhile."""

import json
import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import numpy as np
import pytest

from bankml.cli.app import run
from bankml.models.presets import ALL_MINILM_L6_V2
from bankml.store import Store
from tests.serve.bases import SKY, embedded, put, write
from tests.serve.histories import SKY as EXCHANGES
from tests.serve.histories import write as write_history
from tests.serve.wire import command, until, watched

NAME = ALL_MINILM_L6_V2.name
WORDS = "The engine of the ferry was built in the yard by the old harbour, and nobody remembers by whom. "


@pytest.fixture
def base(stocked_home, tmp_path):
    """The home of a server, with a knowledge base of all-MiniLM-L6-v2 at its usual place."""
    folder = tmp_path / "files"
    folder.mkdir()
    embedded(write(folder), NAME).rename(stocked_home / "kb.db")
    return stocked_home


def loaded(url: str) -> list[str]:
    return [row["name"] for row in httpx.get(f"{url}/api/ps").json()["models"]]


def test_a_client_adds_searches_and_asks_how_much_there_is(serving, base):
    """The lines of docs/serving.md, and the model in memory once."""
    with serving(base, "--model", NAME, "--kb") as server:
        assert server.ready["kb"] == f"{server.url}/ui#knowledge"
        text = "# Tides\n\nThe moon pulls at the sea twice a day."
        added = httpx.post(f"{server.url}/kb/add", json={"documents": [{"name": "tides.md", "text": text}]}, timeout=60)
        assert (added.json()["added"], added.json()["embedded"]) == (1, 1)
        body = {"query": "why is the sky blue?", "n": 3}
        found = httpx.post(f"{server.url}/kb/search", json=body, timeout=60).json()
        assert os.path.basename(found["results"][0]["path"]) == "sky.md"
        assert found["results"][0]["cosine"] > 0.8
        assert found["results"][0]["meaning_rank"] == 1
        status = httpx.get(f"{server.url}/kb/status").json()
        assert (status["documents"], status["embedded"], status["chunks"]) == (4, 5, 5)
        assert loaded(server.url) == [f"{NAME}:latest"]


def test_the_served_model_may_be_another(serving, base, tiny):
    """Both are in memory, and each gives its own vectors, with a history beside."""
    history = write_history(base / "sky.history", EXCHANGES)
    with serving(base, "--model", str(tiny), "--kb", "--history", str(history)) as server:
        found = httpx.post(f"{server.url}/kb/search", json={"query": "the sky is blue"}, timeout=60).json()
        assert found["results"][0]["cosine"] > 0.7
        assert {name.partition(":")[0] for name in loaded(server.url)} == {"tiny", NAME}
        answer = httpx.post(f"{server.url}/api/embed", json={"model": "tiny", "input": "a"})
        assert np.array(answer.json()["embeddings"]).shape == (1, 64)
        assert "?token=" in server.ready["history"]


def test_another_model_than_the_stores_is_a_conflict(serving, base):
    with serving(base, "--model", NAME, "--kb", BANKML_EMBED_MODEL="multilingual-e5-small") as server:
        before = httpx.get(f"{server.url}/kb/status").json()
        for path, body in (
            ("/kb/search", {"query": "sky"}),
            ("/kb/add", {"documents": [{"name": "a", "text": "b"}]}),
        ):
            answer = httpx.post(f"{server.url}{path}", json=body, timeout=60)
            assert answer.status_code == 409
            assert answer.json()["error"].startswith("Model mismatch: DB uses 'all-MiniLM-L6-v2' (384 dim) but")
            assert "bankml reindex --model multilingual-e5-small" in answer.json()["error"]
        assert httpx.get(f"{server.url}/kb/status").json()["generation"] == before["generation"]


@contextmanager
def adding(url: str, path: Path) -> Iterator[socket.socket]:
    """A client that adds three million tokens and waits; some are stored when the block begins."""
    documents = [{"name": f"{number}.txt", "text": f"{number} {WORDS * 80}"} for number in range(2000)]
    body = json.dumps({"documents": documents}).encode()
    host, _, port = url.partition("://")[2].rpartition(":")
    head = f"POST /kb/add HTTP/1.1\r\nHost: {host}\r\nContent-Length: {len(body)}\r\n\r\n"
    with socket.create_connection((host, int(port)), timeout=60) as client, Store.open(path) as store:
        client.sendall(head.encode() + body)
        until(lambda: stored(store) > 3)
        yield client


def stored(store: Store) -> int:
    with store.reading() as db:
        return int(db.execute("SELECT count(*) FROM documents").fetchone()[0])


def test_documents_hold_up_nobody_and_end_with_their_client(serving, base):
    with serving(base, "--model", NAME, "--kb") as server, httpx.Client(base_url=server.url, timeout=60) as client:
        with adding(server.url, base / "kb.db"):
            for _ in range(3):  # while the engine works on documents
                assert client.post("/api/embed", json={"model": NAME, "input": WORDS * 20}).status_code == 200
                assert client.post("/kb/search", json={"query": "heaven"}).json()["results"][0]["cosine"]
            assert client.get("/kb/status").json()["documents"] < 1000
        note = {"documents": [{"name": "note", "text": "It comes when the others have gone."}]}
        assert client.post("/kb/add", json=note).json()["added"] == 1
        status = client.get("/kb/status").json()
        assert status["documents"] < 1000
        assert status["chunks"] == status["embedded"]


def test_a_server_that_ends_while_documents_are_added_keeps_what_was_stored(base, minilm):
    path = base / "kb.db"
    hurry = "from bankml.serve import http; http.GRACE = 1"
    with watched(minilm, "--kb", "--db", path, patch=hurry, BANKML_HOME=str(base)) as server:
        with adding(server.url, path) as client:
            assert server.end() == 0
            assert b" 503 " in client.recv(100)  # and what it had not done by then is undone
        assert "Traceback" not in server.logged()
    with Store.open(path) as store, store.reading() as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert db.execute(
            "SELECT count(*) FROM chunks WHERE id NOT IN (SELECT chunk_id FROM chunks_vec)"
        ).fetchone() == (0,)


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["--kb"], 1, "run `bankml init`"),
        (["--kb", "nothing.db"], 1, "nothing.db: run `bankml init`"),
        (["--kb", "--db", "folder"], 1, "folder is a folder"),
        (["--kb", "text"], 1, "is no knowledge base"),
        (["nothing.db"], 2, "only with --kb"),
        (["--db", "nothing.db"], 2, "only with --kb"),
        (["--kb", "a.db", "--db", "b.db"], 2, "name one"),
    ],
)
def test_a_store_that_cannot_be_served_is_told_at_the_start(
    tmp_path, tiny, arguments, status, words, monkeypatch, capsys
):
    (tmp_path / "folder").mkdir()
    (tmp_path / "text").write_text("no database " * 100)
    monkeypatch.chdir(tmp_path)
    assert run(["serve", "--native", "--port", "0", "--model", str(tiny), *arguments]) == status
    said = capsys.readouterr()
    assert said.out == ""
    assert words in said.err


def test_a_link_that_opens_once_is_printed_where_keys_are_asked_for(serving, tmp_path, tiny):
    path = write(tmp_path, SKY)
    with serving(tmp_path, "--model", str(tiny), "--kb", "--db", str(path), BANKML_API_KEY="open-sesame") as server:
        assert server.ready["kb"].startswith(f"{server.url}/ui?token=")
        assert httpx.post(f"{server.url}/kb/search", json={"query": "sky"}).status_code == 401
        with httpx.Client() as browser:
            proof = browser.get(server.ready["kb"]).headers["location"].partition("=")[2]
            answer = browser.get(f"{server.url}/kb/status", headers={"X-Bankml-Proof": proof})
            assert answer.json()["documents"] == 3


@pytest.mark.parametrize(
    ("host", "who"), [("0.0.0.0", "everybody who reaches this address"), ("127.0.0.1", "every program of this machine")]
)
def test_who_may_ask_and_add_without_a_key_is_told(tmp_path, tiny, host, who):
    path = write(tmp_path)
    script = command("--model", tiny, "--host", host, "--insecure", "--kb", path)
    script.remove("--json")
    with subprocess.Popen(script, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        assert server.stdout
        server.stdout.readline()
        server.terminate()
        assert f"bankml: {who} may search it and add to it: a key" in server.communicate(timeout=60)[1]


def test_what_another_process_adds_is_found(serving, tmp_path, tiny):
    path = write(tmp_path)
    with serving(tmp_path, "--model", str(tiny), "--kb", str(path)) as server:
        with Store.open(path) as store:
            put(store, b"new", "pelicans over the bay\n")
        found = httpx.post(f"{server.url}/kb/search", json={"query": "pelicans"}).json()
        assert [hit["path"] for hit in found["results"]] == ["new"]
