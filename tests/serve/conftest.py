"""A real server process on a free port with real models, shared by the tests of one run."""

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

from bankml.encoder import Encoder


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


@pytest.fixture(scope="session")
def encoder(minilm: Path) -> Iterator[Encoder]:
    """The same model in this process: what the server's answers are compared with."""
    with Encoder(minilm) as encoder:
        yield encoder
