"""bankml's own routes."""

import asyncio
import hashlib
import signal
import time

import httpx
import pytest

import bankml
from bankml.models import choose
from bankml.serve.app import create_app
from bankml.serve.engines import Engines
from bankml.serve.names import Names
from bankml.serve.state import State
from bankml.serve.workers import Workers


@pytest.mark.parametrize("path", ["/health", "/health/live", "/health/ready"])
def test_health(http, path):
    answer = http.get(path)
    assert (answer.status_code, answer.json()["status"]) == (200, "ok")


def test_health_names_the_model(http):
    health = http.get("/health").json()
    assert health["model"] == "all-minilm-l6-v2"
    assert health["version"] == bankml.__version__


def test_info(http, encoder, minilm):
    info = http.get("/info").json()
    assert info["digest"] == hashlib.sha256(minilm.read_bytes()).hexdigest()
    assert (info["dims"], info["context_length"], info["pooling"]) == (384, 512, "mean")
    assert info["backend"] == encoder.backend


def test_tokenize(http, encoder):
    texts = ["why is the sky blue?", "", "word " * 1000]
    expected = [encoder.tokenize(text) for text in texts]
    answer = http.post("/tokenize", json={"model": "all-minilm", "input": texts})
    assert answer.json() == {"model": "all-minilm", "tokens": expected}
    answer = http.post("/tokenize", json={"input": texts[0]})
    assert answer.json() == {"model": "all-minilm-l6-v2", "tokens": expected[:1]}


def test_tokenize_refusals(http):
    assert http.post("/tokenize", json={}).status_code == 400
    assert http.post("/tokenize", json={"input": [1]}).status_code == 400
    assert http.post("/tokenize", json={"input": "a", "model": "nonesuch"}).status_code == 404


def test_ready_is_no_longer_said_when_the_server_ends(serving, tiny, tmp_path):
    """Asked on a connection that was open before the signal: it is told 503 or closed, never that all is well."""
    with serving(tmp_path, "--model", str(tiny)) as server, httpx.Client(base_url=server.url) as client:
        assert client.get("/health/ready").status_code == 200
        server.process.send_signal(signal.SIGTERM)
        time.sleep(0.05)  # a signal takes its time to be heard; uvicorn looks for its end every 0.1 s
        try:
            assert client.get("/health/ready").status_code == 503
        except httpx.HTTPError:
            assert server.process.wait(20) == 0


def test_ready_and_live_tell_apart_what_is_wrong(tiny, tmp_path, applications):
    model = tmp_path / "copy.gguf"
    model.write_bytes(tiny.read_bytes())
    with applications(model) as ask:
        assert ask("GET", "/health/ready").json() == {"status": "ok", "model": "copy"}
        model.unlink()
        answer = ask("GET", "/health/ready")
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        assert answer.json()["error"] == f"the file of copy is gone: {model}"
        assert ask("GET", "/health/live").status_code == 200


def test_a_server_that_was_told_to_end_is_not_ready(tiny):
    shared = State(Names(choose(str(tiny))), Engines(10**9, threads=1), Workers(1))
    shared.ending.set()

    async def scene() -> list[int]:
        transport = httpx.ASGITransport(create_app(shared, True))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return [(await client.get(path)).status_code for path in ("/health/ready", "/health/live")]

    assert asyncio.run(scene()) == [503, 200]
    shared.close()


def test_every_limit_is_told(serving, home):
    with serving(home, "--model", "all-minilm", "--max-queue", "7", "--max-queue-tokens", "1000") as server:
        limits = httpx.get(f"{server.url}/info").json()["limits"]
        assert limits == httpx.get(f"{server.url}/stats").json()["limits"]
    assert limits.pop("max_connections") > 100
    assert limits == {
        "max_queue_requests": 7,
        "max_queue_tokens": 1000,
        "max_body_bytes": 16 * 2**20,
        "max_bodies_bytes": 128 * 2**20,
        "max_texts": 10_000,
        "max_silence_seconds": 60,
        "max_body_seconds": 300,
        "max_head_bytes": 2**16,
        "max_head_seconds": 10,
    }


def test_long_texts_are_tokenized_whole_and_counted(http, encoder):
    texts = ["why is the sky blue " * 20_000, "", "a"] * 3
    answer = http.post("/tokenize", json={"model": "all-minilm", "input": texts})
    assert answer.json() == {"model": "all-minilm", "tokens": [encoder.tokenize(text) for text in texts]}
    assert "content-length" not in answer.headers  # written piece by piece
    assert http.get("/stats").json()["queue_tokens"] == 0
