"""SIGTERM and SIGINT: what can be finished is, the rest is told so."""

import contextlib
import json
import signal
import socket
import time

import httpx
import pytest

from tests.serve.wire import BODY, GET, HEAD, SIZED, answers, is_over, statuses, until, vector, watched

BOTH = [signal.SIGTERM, signal.SIGINT]
HURRY = "from bankml.serve import http; http.GRACE = 1"
PATIENT = "from bankml.serve import http; http.GRACE = 100"  # a busy machine may need more than 10 s
LONG = ["word " * 600] * 5000  # minutes of work
SHORT = LONG[:8]


def embedding(server, texts: list[str], path: str = "/api/embed") -> socket.socket:
    """A connection whose request the server has begun to answer."""
    body = json.dumps({"model": server.model, "input": texts}).encode()
    before = server.descriptors()
    client = server.connect()
    client.settimeout(100)
    client.sendall(f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
    until(lambda: server.descriptors() > before)
    httpx.get(f"{server.url}/health", timeout=100)  # what came before has been seen by then
    time.sleep(0.3)
    return client


@pytest.fixture
def serving(minilm):
    """Starts a server of all-minilm after a patch."""
    with contextlib.ExitStack() as stack:

        def start(patch: str):
            server = stack.enter_context(watched(minilm, patch=patch))
            server.model = httpx.get(f"{server.url}/health").json()["model"]
            time.sleep(0.2)  # until that connection is gone
            return server

        yield start


@pytest.mark.parametrize("number", BOTH)
def test_work_in_flight_is_finished(serving, number):
    server = serving(PATIENT)
    client = embedding(server, SHORT)
    assert server.end(number, 120) == 0
    [(status, _, body)] = answers(client, 2)
    assert (status, len(json.loads(body)["embeddings"])) == (200, 8)
    assert server.logged().count("\n") == 1  # which model was chosen


@pytest.mark.parametrize("number", BOTH)
def test_what_cannot_be_finished_is_told_so(serving, number):
    server = serving(HURRY)
    clients = [embedding(server, LONG, path) for path in ("/api/embed", "/v1/embeddings")]
    slow = server.connect()
    slow.sendall(SIZED[:-10])  # a body that does not come
    time.sleep(0.5)
    assert server.end(number) == 0
    for client in (*clients, slow):
        [(status, head, body)] = answers(client, 2)
        assert (status, head[b"retry-after"]) == (503, b"1")
        assert b"the server is ending" in body
    assert server.logged().count("\n") == 1


@pytest.mark.parametrize("first", BOTH)
@pytest.mark.parametrize("second", BOTH)
def test_a_second_signal_ends_it_at_once(serving, first, second):
    server = serving(PATIENT)
    client = embedding(server, LONG)
    server.process.send_signal(first)
    time.sleep(0.5)
    assert server.process.poll() is None
    assert server.end(second) == -second
    assert is_over(client)


def test_nobody_else_is_let_in(serving):
    server = serving(PATIENT)
    idle, half = server.connect(), server.connect()
    half.sendall(GET[:-1])
    busy = embedding(server, SHORT)
    busy.sendall(SIZED)  # one more behind it
    server.process.send_signal(signal.SIGTERM)
    assert is_over(idle)
    assert is_over(half)
    with pytest.raises(ConnectionRefusedError):
        server.connect()
    assert statuses(busy, 3) == [200]
    assert server.process.wait(100) == 0


def test_with_hundreds_of_idle_connections(tiny):
    with watched(tiny, patch="from bankml.serve import http; http.GRACE = 1000") as server:
        vector(server)
        clients = [server.connect() for _ in range(200)]
        for client in clients[::2]:
            client.sendall(GET)
        time.sleep(0.2)
        assert server.end(seconds=100) == 0  # nobody waits for them
        for client in clients:
            client.close()
        assert server.logged().count("\n") == 1


def test_the_port_is_free_for_the_next(tiny):
    with watched(tiny) as server:
        port = server.address[1]
        lingering = server.connect()
        lingering.sendall(GET)
        assert server.end() == 0
    with watched(tiny, "--port", port) as server:
        assert len(vector(server)) > 1
    lingering.close()


def test_a_client_that_does_not_read_does_not_keep_it(tiny):
    body = json.dumps({"model": "tiny", "input": ["some words"] * 5000}).encode()
    with watched(tiny, patch=HURRY) as server:
        client = server.connect()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.sendall(f"{HEAD}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        time.sleep(1)
        assert server.end() == 0
        client.close()
        assert server.logged().count("\n") == 1


def test_wrong_variables_of_uvicorn_change_nothing(tiny):
    environment = {"WEB_CONCURRENCY": "many", "FORWARDED_ALLOW_IPS": "*", "UVICORN_PORT": "1"}
    with watched(tiny, **environment) as server:
        assert httpx.post(f"{server.url}/api/embed", content=BODY).status_code == 200
