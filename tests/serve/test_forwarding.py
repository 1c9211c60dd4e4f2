"""`bankml serve` without --native: what it does not answer goes to an Ollama, here a bankml or a small one of ours."""

import asyncio
import contextlib
import hashlib
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import gguf
import httpx
import numpy as np
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from bankml.encoder import Encoder
from bankml.serve.answering import UNKNOWN
from bankml.serve.upstream import MARK, is_own
from oracle import seeded
from tests.serve.test_catalogue import manifest
from tests.serving import Server, running


class Ollama:
    """What bankml never does, spoken as Ollama speaks it; remembers what it was asked."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str, dict[str, str], bytes]] = []
        self.left = threading.Event()
        self.go = threading.Event()

    def app(self) -> Starlette:
        paths = [("/api/chat", self.chat), ("/api/broken", self.broken), ("/api/hang", self.hang)]
        paths += [("/api/tags", self.tags), ("/{rest:path}", self.other)]
        methods = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH"]
        return Starlette(routes=[Route(path, call, methods=methods) for path, call in paths])

    async def remember(self, request: Request) -> bytes:
        body = await request.body()
        url = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        self.seen.append((request.method, url, dict(request.headers), body))
        return body

    async def chat(self, request: Request) -> Response:
        """A line, and the next when the client has seen the first."""
        await self.remember(request)

        async def lines():
            yield b'{"done":false}\n'
            assert await asyncio.to_thread(self.go.wait, 30)
            yield b'{"done":true}\n'

        return StreamingResponse(
            lines(), 201, {"X-Own": "yes", "Access-Control-Allow-Origin": "*"}, "application/x-ndjson"
        )

    async def broken(self, request: Request) -> Response:
        async def lines():
            yield b'{"done":false}\n'
            raise RuntimeError("as planned")

        return StreamingResponse(lines(), media_type=request.query_params["type"])

    async def hang(self, request: Request) -> Response:
        await request.body()
        while not await request.is_disconnected():
            await asyncio.sleep(0.01)
        self.left.set()
        return Response()

    async def tags(self, request: Request) -> Response:
        names = ("llama3:latest", "Tiny:latest", "sky:7b")
        return JSONResponse({"models": [{"name": name, "model": name, "size": 1} for name in names]})

    async def other(self, request: Request) -> Response:
        body = await self.remember(request)
        return JSONResponse({"echo": len(body)}, 418, {"Set-Cookie": "a=b"})


@contextlib.contextmanager
def listening(app: Starlette) -> Iterator[str]:
    """The application on a free port in a thread."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        config = uvicorn.Config(app, log_level="critical", lifespan="off", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=lambda: asyncio.run(server.serve([listener])))
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(20)


@pytest.fixture(scope="module")
def other() -> Iterator[Ollama]:
    return Ollama()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ollama's store with `llama3`, whose architecture is llama, and `sky`, an encoder."""
    root = tmp_path_factory.mktemp("store")
    (root / "blobs").mkdir()
    llama = root / "llama.gguf"
    writer = gguf.GGUFWriter(llama, "llama")
    writer.add_tensor("token_embd.weight", np.ones((4, 32), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    for name, path in (("llama3", llama), ("sky", seeded.tiny(root / "sky.gguf"))):
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        shutil.copy(path, root / "blobs" / f"sha256-{digest}")
        folder = root / "manifests" / "registry.ollama.ai" / "library" / name
        folder.mkdir(parents=True)
        (folder / "latest").write_text(json.dumps(manifest(digest, path.stat().st_size)))
    return root


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory, tiny: Path, store: Path, other: Ollama) -> Iterator[Server]:
    """A server in front of `other`, whose environment names a proxy that is not there."""
    home = tmp_path_factory.mktemp("home")
    nowhere = {
        "HTTP_PROXY": "http://127.0.0.1:9",
        "http_proxy": "http://127.0.0.1:9",
        "ALL_PROXY": "http://127.0.0.1:9",
    }
    with listening(other.app()) as url:
        more = {"BANKML_OLLAMA": url.removeprefix("http://"), "OLLAMA_MODELS": str(store), **nowhere}
        with running(home, "--model", str(tiny), native=False, **more) as server:
            yield server


@pytest.fixture
def client(before: Server) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=before.url, timeout=30) as client:
        yield client


def test_an_answer_comes_as_it_is_made(client: httpx.Client, other: Ollama) -> None:
    other.go.clear()
    with client.stream("POST", "/api/chat", json={"model": "llama3"}) as answer:
        lines = answer.iter_lines()
        assert next(lines) == '{"done":false}'  # the rest is made only now
        other.go.set()
        assert list(lines) == ['{"done":true}']
    assert (answer.status_code, answer.headers["x-own"]) == (201, "yes")
    assert answer.headers["content-type"] == "application/x-ndjson"
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH"])
@pytest.mark.parametrize("path", ["/api/generate", "/api/blobs/sha256:00?a=b%20c", "/v1/chat/completions", "/api/x/y"])
def test_everything_else_goes_there_with_its_status(
    client: httpx.Client, other: Ollama, method: str, path: str
) -> None:
    body = b"" if method in ("GET", "HEAD") else b"{not json"
    answer = client.request(method, path, content=body)
    assert (answer.status_code, answer.headers["set-cookie"]) == (418, "a=b")
    assert method == "HEAD" or answer.json() == {"echo": len(body)}
    assert other.seen[-1][:2] == (method, path)
    assert other.seen[-1][3] == body


def test_a_body_goes_as_it_comes(client: httpx.Client, other: Ollama) -> None:
    parts = [os.urandom(1 << 20)] * 20  # above the limit of a request to embed
    answer = client.post("/api/blobs/sha256:01", content=iter(parts))
    assert answer.json() == {"echo": 20 << 20}
    assert other.seen[-1][3] == b"".join(parts)


def test_headers_of_this_connection_stay_here(client: httpx.Client, other: Ollama) -> None:
    mine = {"Authorization": "Bearer key", "X-Own": "1", "X-Hop": "2", "Connection": "X-Hop", "TE": "trailers"}
    client.post("/api/generate", json={}, headers={**mine, "Origin": "http://localhost:3000", "Cookie": "a=b"})
    seen = other.seen[-1][2]
    assert (seen["x-own"], seen[MARK], seen["content-type"]) == ("1", "1", "application/json")
    assert not {"authorization", "x-hop", "te", "origin", "cookie"} & set(seen)
    assert seen["host"] != httpx.URL(client.base_url).netloc.decode()


@pytest.mark.parametrize("path", ["/api/embed", "/api/embeddings", "/v1/embeddings", "/api/show"])
def test_a_model_that_is_no_encoder_or_not_here_goes_there(client: httpx.Client, other: Ollama, path: str) -> None:
    for name in ("llama3", "LLAMA3:latest", "someone/else:7b"):
        body = json.dumps({"model": name, "input": "a", "prompt": "a"}).encode()
        answer = client.post(path, content=body)
        assert (answer.status_code, other.seen[-1][1], other.seen[-1][3]) == (418, path, body)
        answer = client.post(path, content=iter([body[:9], body[9:]]))  # without a Content-Length
        assert (answer.status_code, other.seen[-1][3]) == (418, body)


@pytest.mark.parametrize("name", ["tiny", "TINY:latest", "sky"])
def test_a_model_that_bankml_runs_is_answered_here(client: httpx.Client, other: Ollama, tiny: Path, name: str) -> None:
    asked = len(other.seen)
    with Encoder(tiny) as encoder:
        expected = encoder.encode(["a"]).tobytes()
    answer = client.post("/api/embed", json={"model": name, "input": "a"})
    assert np.array(answer.json()["embeddings"], np.float32).tobytes() == expected
    assert client.post("/api/show", json={"name": name}).json()["capabilities"] == ["embedding"]
    assert client.get(f"/v1/models/{name}").json()["id"] == name
    assert len(other.seen) == asked
    assert client.get("/v1/models/llama3").status_code == 418


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"model":5,"input":"a"}', b'{"input":"a"}', b'{"model":""}'])
def test_what_names_no_model_is_answered_here(
    client: httpx.Client, http: httpx.Client, other: Ollama, body: bytes
) -> None:
    asked = len(other.seen)
    for path in ("/api/embed", "/v1/embeddings", "/api/show"):
        here, alone = client.post(path, content=body), http.post(path, content=body)
        assert (here.status_code, here.content) == (alone.status_code, alone.content)
    assert len(other.seen) == asked


def test_a_body_to_embed_is_bounded(client: httpx.Client) -> None:
    assert client.post("/api/embed", content=b'{"model":"llama3","input":"' + b"a" * (17 << 20)).status_code == 413


def test_lists_hold_both_each_name_once(client: httpx.Client, before: Server) -> None:
    names = [model["name"] for model in client.get("/api/tags").json()["models"]]
    assert sorted(names) == ["llama3:latest", "sky:7b", "sky:latest", "tiny:latest"]
    assert names[-2:] == ["llama3:latest", "sky:7b"]


def test_info_says_who_answers_and_why(client: httpx.Client) -> None:
    info = client.get("/info").json()
    found = {row["name"]: (row["answers"], row["reason"]) for row in info["models"]}
    url = info["forward"]
    assert found["tiny:latest"] == found["sky:latest"] == ("native", None)
    assert found["llama3:latest"] == (url, "architecture llama is no encoder that bankml runs")
    assert found["sky:7b"] == (url, UNKNOWN)
    assert url.startswith("http://127.0.0.1:")


def test_ollama_is_left_when_the_client_leaves(client: httpx.Client, other: Ollama) -> None:
    for method in ("POST", "GET"):
        other.left.clear()
        with pytest.raises(httpx.ReadTimeout):
            client.request(method, "/api/hang", timeout=0.5, json={} if method == "POST" else None)
        assert other.left.wait(20)


def test_a_client_that_leaves_in_the_middle_of_an_answer(before: Server, other: Ollama) -> None:
    other.go.clear()
    with httpx.stream("POST", f"{before.url}/api/chat", json={}) as answer:
        next(answer.iter_raw())
    other.go.set()
    assert httpx.get(f"{before.url}/health/live").status_code == 200


def test_a_stream_that_breaks_off_says_so(client: httpx.Client) -> None:
    lines = client.get("/api/broken", params={"type": "application/x-ndjson"}).text.splitlines()
    assert lines[0] == '{"done":false}'
    assert json.loads(lines[1])["error"].startswith("Ollama broke off its answer")
    with pytest.raises(httpx.RemoteProtocolError):
        client.get("/api/broken", params={"type": "text/event-stream"})


def test_what_was_forwarded_once_is_not_forwarded_again(client: httpx.Client, other: Ollama) -> None:
    asked = len(other.seen)
    answer = client.post("/api/embed", json={"model": "someone/else", "input": "a"}, headers={MARK: "1"})
    assert (answer.status_code, answer.json()) == (404, {"error": "model 'someone/else' not found"})
    assert client.post("/api/chat", json={}, headers={MARK: "1"}).status_code == 404
    assert len(other.seen) == asked


# Another bankml as the Ollama


def test_another_server_answers_with_its_own_vectors(tmp_path: Path, tiny: Path) -> None:
    (tmp_path / "far" / "models").mkdir(parents=True)
    far = seeded.tiny(tmp_path / "far" / "models" / "far.gguf", seed=7)
    with Encoder(far) as encoder:
        expected = encoder.encode(["sky"]).tobytes()
    with (
        running(tmp_path / "far", "--model", str(far)) as behind,
        running(tmp_path / "near", "--model", str(tiny), native=False, BANKML_OLLAMA=behind.url) as server,
    ):
        answer = httpx.post(f"{server.url}/api/embed", json={"model": "far", "input": "sky"}, timeout=30)
        assert np.array(answer.json()["embeddings"], np.float32).tobytes() == expected
        names = {model["id"] for model in httpx.get(f"{server.url}/v1/models").json()["data"]}
        assert names == {"tiny:latest", "far:latest"}
        loaded = {model["name"] for model in httpx.get(f"{server.url}/api/ps").json()["models"]}
        assert loaded == {"tiny:latest", "far:latest"}


def test_two_servers_that_name_each_other_end(tmp_path: Path, tiny: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = str(held.getsockname()[1])
    with (
        running(tmp_path, "--model", str(tiny), native=False, BANKML_OLLAMA=f":{port}") as one,
        running(tmp_path, "--model", str(tiny), "--port", port, native=False, BANKML_OLLAMA=one.url) as two,
    ):
        for server in (one, two):
            answer = httpx.post(f"{server.url}/api/embed", json={"model": "none", "input": "a"}, timeout=30)
            assert (answer.status_code, answer.json()) == (404, {"error": "model 'none' not found"})
            assert httpx.get(f"{server.url}/api/tags", timeout=30).status_code == 200


# Without an Ollama


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory, tiny: Path, store: Path) -> Iterator[Server]:
    """A server whose Ollama is not there."""
    home = tmp_path_factory.mktemp("home")
    with running(home, "--model", str(tiny), native=False, BANKML_OLLAMA=":9", OLLAMA_MODELS=str(store)) as server:
        yield server


def test_without_an_ollama_what_is_its_own_is_a_502_that_says_what_to_do(alone: Server) -> None:
    answer = httpx.post(f"{alone.url}/api/embed", json={"model": "llama3", "input": "a"})
    sentence = answer.json()["error"]
    assert answer.status_code == 502
    assert sentence.startswith("llama3 is left to Ollama (architecture llama is no encoder that bankml runs), and no ")
    assert "no Ollama answers at http://127.0.0.1:9 (" in sentence
    assert "`ollama serve`" in sentence
    answer = httpx.post(f"{alone.url}/v1/chat/completions", json={"model": "llama3"})
    assert answer.status_code == 502
    assert answer.json()["error"]["message"].startswith("/v1/chat/completions of llama3 is left to Ollama (bankml only")
    assert httpx.get(f"{alone.url}/api/generate").status_code == 502


def test_without_an_ollama_an_unknown_model_is_not_found(alone: Server) -> None:
    for path, error in (("/api/embed", "model 'none' not found"), ("/api/show", "model 'none' not found")):
        answer = httpx.post(alone.url + path, json={"model": "none", "input": "a"})
        assert (answer.status_code, answer.json()) == (404, {"error": error})
    assert httpx.get(f"{alone.url}/v1/models/none").status_code == 404
    assert httpx.post(f"{alone.url}/api/embed", json={"model": "tiny", "input": "a"}).status_code == 200
    assert len(httpx.get(f"{alone.url}/api/tags").json()["models"]) == 2


# With --native

NOT_RUN = "general.architecture is 'llama', which bankml does not run"


def test_native_refuses_what_it_cannot_run_and_never_forwards(tmp_path: Path, tiny, store, other: Ollama) -> None:
    with (
        listening(other.app()) as url,
        running(tmp_path, "--model", str(tiny), BANKML_OLLAMA=url, OLLAMA_MODELS=str(store)) as server,
    ):
        asked = len(other.seen)
        for path in ("/api/embed", "/api/embeddings", "/v1/embeddings", "/tokenize"):
            answer = httpx.post(server.url + path, json={"model": "llama3", "input": "a", "prompt": "a"})
            assert (answer.status_code, NOT_RUN in answer.text) == (400, True)
            assert httpx.post(server.url + path, json={"model": "none", "input": "a"}).status_code == 404
        assert httpx.post(f"{server.url}/api/chat", json={"model": "llama3"}).status_code == 404
        info = httpx.get(f"{server.url}/info").json()
        found = {row["name"]: row["answers"] for row in info["models"]}
        assert found == {"tiny:latest": "native", "sky:latest": "native", "llama3:latest": None}
        assert info["forward"] is None
        assert len(other.seen) == asked


# At the start


def told(tmp_path: Path, tiny: Path, *arguments: str, **environment: str) -> list[str]:
    """What a server says on stderr until it is ready."""
    env = os.environ | {"BANKML_HOME": str(tmp_path)} | environment
    command = [sys.executable, "-m", "bankml", "serve", "--model", str(tiny), "--port", "0", *arguments]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.readline()
        process.terminate()
        return process.communicate(timeout=20)[1].splitlines()


def test_a_start_says_where_texts_may_go(tmp_path: Path, tiny: Path) -> None:
    model = "bankml: model tiny: a file, as asked"
    assert told(tmp_path, tiny, "--native", BANKML_OLLAMA="ollama.example") == [model]
    here = "bankml: what bankml does not run is left to Ollama at http://127.0.0.1:11434"
    assert told(tmp_path, tiny) == [here, model]
    _, warned, last = told(tmp_path, tiny, BANKML_OLLAMA="ollama.example")
    assert warned == (
        "bankml: BANKML_OLLAMA is http://ollama.example:11434, another machine: the texts of what is left to it leave "
        "this one"
    )
    assert last == model


def test_a_server_is_not_its_own_ollama(tmp_path: Path, tiny: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = str(held.getsockname()[1])
    first, _ = told(tmp_path, tiny, "--port", port, BANKML_OLLAMA=f"localhost:{port}")
    assert first.startswith(
        f"bankml: nothing is forwarded: BANKML_OLLAMA is http://localhost:{port}, which is this server"
    )


@pytest.mark.parametrize(
    ("host", "url", "own"),
    [
        ("127.0.0.1", "http://127.0.0.1:{}", True),
        ("127.0.0.1", "http://localhost:{}", True),
        ("127.0.0.1", "http://0.0.0.0:{}", True),
        ("0.0.0.0", "http://127.0.0.1:{}", True),
        ("127.0.0.1", "http://192.0.2.1:{}", False),
        ("127.0.0.1", "http://127.0.0.1:1", False),
    ],
)
def test_which_address_is_ones_own(host: str, url: str, own: bool) -> None:
    with socket.create_server((host, 0)) as listener:
        assert is_own(url.format(listener.getsockname()[1]), listener) is own
