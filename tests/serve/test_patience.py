"""Bodies that are passed on have an end, and are counted."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import httpx
import pytest

from bankml.models import choose
from bankml.serve.app import create_app
from bankml.serve.engines import Engines
from bankml.serve.errors import BUSY, RefusedError
from bankml.serve.ledger import Held, Ledger
from bankml.serve.limits import Limits
from bankml.serve.names import Names
from bankml.serve.patience import Patient
from bankml.serve.state import State
from bankml.serve.upstream import Upstream
from bankml.serve.workers import Workers
from tests.serve.test_forwarding import Ollama, listening
from tests.serving import running


@pytest.fixture(scope="module")
def ollama() -> Iterator[tuple[Ollama, str]]:
    other = Ollama()
    with listening(other.app()) as url:
        yield other, url


@contextmanager
def before(url: str, tiny, **limits: float):
    """Asks an application in this process, in front of the Ollama at `url`, in an event loop of its own."""
    ledger = Ledger(Limits(**limits))
    state = State(Names(choose(str(tiny))), Engines(10**9, threads=1), Workers(1), ledger)
    upstream = Upstream(url)
    transport = httpx.ASGITransport(create_app(state, True, upstream=upstream))
    with asyncio.Runner() as runner:
        client = httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=30)
        yield runner, client, ledger
        runner.run(upstream.close())
        state.close()


async def parts(count: int, pause: float):
    for _ in range(count):
        yield b" "
        await asyncio.sleep(pause)


@pytest.mark.parametrize("path", ["/api/chat", "/api/blobs/sha256:00", "/v1/chat/completions"])
def test_a_body_that_stops_coming_is_given_up(ollama, tiny, path):
    with before(ollama[1], tiny, max_silence_seconds=0.2) as (runner, client, ledger):
        answer = runner.run(client.post(path, content=parts(2, 10)))
        assert (answer.status_code, answer.headers["connection"]) == (408, "close")
        assert "no byte of the body came for 0.2 s; send it without pauses" in answer.text
        assert ledger.held == Held()
    with before(ollama[1], tiny, max_body_seconds=0.2) as (runner, client, ledger):
        answer = runner.run(client.post(path, content=parts(100, 0.01)))
        assert answer.status_code == 408
        assert "the body had not come whole after 0.2 s" in answer.text


def test_an_answer_may_be_silent(ollama, tiny):
    other, url = ollama
    other.go.clear()
    with before(url, tiny, max_silence_seconds=0.2, max_body_seconds=0.2) as (runner, client, _):
        threading.Timer(0.5, other.go.set).start()
        answer = runner.run(client.post("/api/chat", json={}))
        assert answer.text.splitlines() == ['{"done":false}', '{"done":true}']


def test_what_is_passed_on_is_in_flight(ollama, tiny):
    async def scene(client: httpx.AsyncClient, ledger: Ledger) -> None:
        chat = asyncio.create_task(client.post("/api/generate", content=parts(2, 0.5)))
        await asyncio.sleep(0.2)
        assert ledger.held.requests == 1
        answer = await client.post("/api/generate", json={})
        assert (answer.status_code, answer.json()) == (503, {"error": BUSY})
        assert answer.headers["retry-after"] == "1"
        assert (await client.post("/v1/chat/completions", json={})).status_code == 429
        assert (await client.post("/api/embed", json={"model": "someone/else"})).status_code == 503
        assert (await client.get("/api/generate")).status_code == 418  # it has no body
        assert (await chat).status_code == 418
        assert ledger.held == Held()
        assert (await client.post("/api/generate", json={})).status_code == 418

    with before(ollama[1], tiny, max_queue_requests=1) as (runner, client, ledger):
        runner.run(scene(client, ledger))


def test_a_large_body_has_the_time_that_it_takes():
    """Of 100 bytes, ten times the limit, it may take ten times as long; when bytes come no faster it is given up."""
    limits = Limits(max_body_bytes=10, max_body_seconds=0.2)

    async def scene(size: int) -> int:
        async def receive() -> dict:
            await asyncio.sleep(0.01)
            return {"type": "http.request", "body": b"a" * size, "more_body": True}

        patient = Patient(receive, limits)
        taken = 0
        with suppress(RefusedError):
            while taken < 50:
                await patient()
                taken += 1
        return taken

    assert asyncio.run(scene(100)) == 50
    assert asyncio.run(scene(0)) < 50


@pytest.mark.parametrize(("native", "room"), [(True, 96), (False, 48)])
def test_where_requests_are_passed_on_a_connection_counts_twice(tiny, tmp_path, native, room):
    few = ("sh", "-c", 'ulimit -n 128; exec "$@"', "sh")
    with running(tmp_path, "--model", str(tiny), native=native, within=few, BANKML_OLLAMA=":9") as server:
        assert httpx.get(f"{server.url}/info").json()["limits"]["max_connections"] == room
