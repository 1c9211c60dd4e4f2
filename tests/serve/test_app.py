"""Routes that are not here."""

import asyncio
import json

import pytest

from bankml.models import choose
from bankml.serve.app import create_app
from bankml.serve.engines import Engines
from bankml.serve.names import Names
from bankml.serve.state import State
from bankml.serve.workers import Workers


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/api/pull"),
        ("DELETE", "/api/delete"),
        ("POST", "/api/generate"),
        ("POST", "/api/chat"),
        ("HEAD", "/api/blobs/sha256:00"),
        ("POST", "/api/create"),
    ],
)
def test_what_only_ollama_does(http, method, path):
    answer = http.request(method, path, json={"model": "all-minilm"})
    assert answer.status_code == 404
    assert method == "HEAD" or answer.json()["error"].startswith(f"bankml only embeds: ask Ollama itself for {path};")


def test_an_unknown_path_is_as_in_ollama(http):
    answer = http.get("/api/nonesuch")
    assert (answer.status_code, answer.text) == (404, "404 page not found")


def test_what_only_others_do_below_v1(http):
    answer = http.post("/v1/chat/completions", json={"model": "all-minilm"})
    assert answer.status_code == 404
    assert answer.json()["error"]["message"].startswith(
        "bankml only embeds: ask Ollama itself for /v1/chat/completions"
    )
    assert answer.json()["error"]["type"] == "not_found_error"


GETS = ["/", "/api/tags", "/api/ps", "/api/version", "/v1/models", "/v1/models/all-minilm", "/health", "/health/live"]
GETS += ["/health/ready", "/info"]
POSTS = ["/api/embed", "/api/embeddings", "/api/show", "/v1/embeddings", "/tokenize"]


@pytest.mark.parametrize("path", GETS)
def test_what_can_be_got_has_a_head(http, path):
    answer = http.head(path)
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["content-type"] == http.get(path).headers["content-type"]


@pytest.mark.parametrize(
    ("method", "path"),
    [(method, path) for path in POSTS for method in ("GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS", "BREW")]
    + [(method, path) for path in GETS for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS", "BREW")],
)
def test_another_method(http, method, path):
    answer = http.request(method, path)
    assert answer.status_code == 405
    assert answer.text == ("" if method == "HEAD" else "405 method not allowed")
    assert answer.headers["content-type"].startswith("text/plain")
    assert ("POST" if path in POSTS else "GET") in answer.headers["allow"]


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "BREW"])
@pytest.mark.parametrize(
    "path", ["/nonesuch", "/api", "/v1", "/api/embed/x", "/%00", "/%ff%fe", "/..%2f..%2fetc/passwd"]
)
def test_an_unknown_path_in_any_method(http, method, path):
    answer = http.request(method, path)
    assert answer.status_code == 404
    assert answer.text == ("" if method == "HEAD" else "404 page not found")


def test_a_very_long_address(http):
    assert http.get("/" + "a" * 20_000).status_code == 404
    assert http.get("/api/version?x=" + "a" * 20_000).status_code == 200
    assert http.get("/v1/models/" + "a" * 20_000).json()["error"]["message"] == "invalid model name"


@pytest.fixture
def full(applications, tiny):
    """An application whose queue holds nothing."""
    with applications(tiny, max_queue_requests=0) as ask:
        yield ask


BUSY = "server busy, please try again.  maximum pending requests exceeded"


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("/api/embed", BUSY),
        ("/api/embeddings", BUSY),
        ("/tokenize", BUSY),
        ("/v1/embeddings", {"message": BUSY, "type": "rate_limit_error", "param": None, "code": None}),
    ],
)
def test_a_full_queue(full, path, error):
    answer = full("POST", path, json={"model": "tiny", "input": "a", "prompt": "a"})
    status = 429 if path.startswith("/v1/") else 503
    assert (answer.status_code, answer.json(), answer.headers["retry-after"]) == (status, {"error": error}, "1")


def test_a_full_queue_still_answers_what_needs_no_engine(full):
    assert full("GET", "/").text == "Ollama is running"
    assert full("POST", "/api/embed", json={"model": "tiny"}).json() == {"model": "tiny", "embeddings": []}


WORK = json.dumps({"model": "tiny", "input": ["some words"] * 10_000}).encode()


@pytest.mark.parametrize("body", [WORK, WORK[:100]])
def test_a_client_that_left(tiny, body):
    messages = [{"type": "http.request", "body": body, "more_body": body != WORK}, {"type": "http.disconnect"}]
    headers = [(b"host", b"localhost"), (b"content-length", str(len(WORK)).encode())]
    scope = {"type": "http", "method": "POST", "path": "/api/embed", "query_string": b"", "headers": headers}
    sent = []

    async def receive() -> dict:
        return messages.pop(0)

    async def send(message: dict) -> None:
        sent.append(message)

    async def scene() -> None:
        state = State(Names(choose(str(tiny))), Engines(10**9, threads=1), Workers(1))
        await create_app(state, True)(scope, receive, send)
        state.close()

    asyncio.run(scene())
    assert sent[0]["status"] == 499
    assert json.loads(sent[1]["body"]) == {"error": "request canceled"}
