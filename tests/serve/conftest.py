"""A real server process on a free port with real models, shared by the tests of one run; also one in this process."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
import trustme

from bankml import models
from bankml.encoder import Encoder
from bankml.serve.access import ANYBODY, Access
from bankml.serve.app import create_app
from bankml.serve.engines import Engines
from bankml.serve.names import Names
from bankml.serve.state import State
from bankml.serve.workers import Workers
from oracle import seeded

Ask = Callable[..., httpx.Response]


@dataclass
class Server:
    url: str
    process: subprocess.Popen
    ready: dict  # what `serve --json` printed


@contextmanager
def running(home: Path, *arguments: str, **environment: str) -> Iterator[Server]:
    """`bankml serve --native` with its own home, ended by SIGTERM."""
    env = {name: value for name, value in os.environ.items() if name not in ("BANKML_EMBED_MODEL", "MINDX_EMBED_MODEL")}
    env |= {"BANKML_HOME": str(home), "OLLAMA_MODELS": str(home / "no-store"), "BANKML_SKIP_MODEL_DOWNLOAD": "1"}
    command = [sys.executable, "-m", "bankml", "serve", "--native", "--port", "0", "--json", *arguments]
    process = subprocess.Popen(command, env=env | environment, stdout=subprocess.PIPE, text=True)
    try:
        line = process.stdout.readline()
        assert line, f"the server ended with {process.wait()}"
        ready = json.loads(line)
        yield Server(ready["url"], process, ready)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
        process.stdout.close()


@pytest.fixture(scope="session")
def home(tmp_path_factory, minilm: Path, e5: Path) -> Path:
    """A BANKML_HOME with both built-ins."""
    home = tmp_path_factory.mktemp("home")
    (home / "models").mkdir()
    for model in (minilm, e5):
        (home / "models" / model.name).symlink_to(model)
    return home


@pytest.fixture(scope="session")
def serving() -> Callable[..., AbstractContextManager[Server]]:
    """Starts a server of the test's own."""
    return running


@pytest.fixture(scope="session")
def server(home: Path) -> Iterator[Server]:
    """Serves all-minilm-l6-v2; multilingual-e5-small is there by name."""
    with running(home, "--model", "all-minilm") as server:
        yield server


@pytest.fixture(scope="session")
def http(server: Server) -> Iterator[httpx.Client]:
    """A client of the shared server."""
    with httpx.Client(base_url=server.url, timeout=60) as client:
        yield client


@contextmanager
def inside(model: Path, max_pending: int = 512, access: Access = ANYBODY) -> Iterator[Ask]:
    """The application in this process, asked as httpx.request is; an exception it does not answer is raised here."""
    workers, engines = Workers(2, max_pending), Engines(300 * 10**9, threads=1)
    shared = State(Names(models.choose(str(model))), engines, workers)
    transport = httpx.ASGITransport(create_app(shared, True, access))
    with asyncio.Runner() as runner:
        client = httpx.AsyncClient(transport=transport, base_url="http://localhost")
        yield lambda *arguments, **more: runner.run(client.request(*arguments, **more))
        engines.close()
        workers.close()


@pytest.fixture(scope="session")
def tiny(tmp_path_factory) -> Path:
    """A small seeded model that can be asked thousands of times, named tiny."""
    return seeded.tiny(tmp_path_factory.mktemp("tiny") / "tiny.gguf")


@pytest.fixture(scope="session")
def application(tiny) -> Iterator[Ask]:
    """An application in this process that serves `tiny`."""
    with inside(tiny) as ask:
        yield ask


@pytest.fixture(scope="session")
def applications() -> Callable[..., AbstractContextManager[Ask]]:
    """Starts an application of the test's own."""
    return inside


@pytest.fixture(scope="session")
def encoder(minilm: Path) -> Iterator[Encoder]:
    """The same model in this process: what the server's answers are compared with."""
    with Encoder(minilm) as encoder:
        yield encoder


@dataclass
class Pair:
    """A certificate for 127.0.0.1 and localhost, its key, and the authority that clients must trust."""

    certificate: Path
    key: Path
    authority: Path


@pytest.fixture(scope="session")
def pair(tmp_path_factory) -> Pair:
    """Made for this run alone."""
    folder = tmp_path_factory.mktemp("tls")
    pair = Pair(folder / "server.pem", folder / "server.key", folder / "authority.pem")
    authority = trustme.CA()
    issued = authority.issue_cert("127.0.0.1", "localhost")
    pair.certificate.write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))
    issued.private_key_pem.write_to_path(pair.key)
    authority.cert_pem.write_to_path(pair.authority)
    return pair
