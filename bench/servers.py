"""The servers that are loaded, each a process of its own on a free port of this machine."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from bench import clients, resident
from bench.engines import THREADS

BANKML, LLAMA_SERVER = "bankml", "llama-server"
READY = 120.0  # seconds that a model may take to be loaded
SLOTS, PASS_TOKENS = 32, 512  # of llama-server: texts that share a pass, and its tokens: the longest text here has 512


@dataclass(frozen=True)
class Server:
    """`path` is where it embeds, `model` what its requests name, `settings` what it was told."""

    name: str
    port: int
    pid: int
    settings: str
    model: str = "model"
    path: str = "/v1/embeddings"

    def resident(self) -> int:
        """Bytes of the process: RssAnon + RssFile."""
        return resident.now(self.pid).total

    def body(self, texts: Sequence[str], **more: str) -> str:
        """One request of OpenAI's address, which both servers have."""
        return json.dumps({"model": self.model, "input": texts[0] if len(texts) == 1 else list(texts), **more})

    def load(self, bodies: list[str], **options: object) -> clients.Told:
        """What clients in a process of their own were told; `options` as in clients.Plan."""
        plan = clients.Plan(**{"host": "127.0.0.1", "port": self.port, "path": self.path, "bodies": bodies, **options})  # type: ignore[arg-type]
        written = json.dumps({name: value for name, value in asdict(plan).items() if value != float("inf")})
        command = [sys.executable, "-m", "bench.clients"]
        done = subprocess.run(command, input=written, stdout=subprocess.PIPE, text=True, check=True)
        return clients.Told(**json.loads(done.stdout))


@contextmanager
def bankml(model: Path) -> Iterator[Server]:
    """`bankml serve --native`, the model kept in memory."""
    command = [sys.executable, "-m", "bankml", "serve", "--native", "--model", str(model), "--port", "0", "--json"]
    environment = os.environ | {"BANKML_KEEP_ALIVE": "-1", "PYTHONFAULTHANDLER": "1"}  # should it crash, it says where
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    with _ended(process):
        assert process.stdout
        line = process.stdout.readline()
        if not line:
            raise RuntimeError(f"bankml serve ended with {process.wait()}")
        ready = json.loads(line)
        port = int(ready["url"].rsplit(":", 1)[1])
        yield Server(BANKML, port, process.pid, "as installed", ready["model"])


def found() -> str | None:
    """The program llama-server: LLAMA_SERVER, else the one that `make llama-server` built, else the one in PATH."""
    built = Path(sys.executable).with_name("llama-server")
    return os.environ.get("LLAMA_SERVER") or (str(built) if built.is_file() else shutil.which("llama-server"))


@contextmanager
def llama(model: Path, program: str, clients: int) -> Iterator[Server]:
    """llama-server with as many threads as CPUs; one text may fill a pass and several share one.

    It gives each connection a thread of its own, so it gets one for each of `clients`.
    """
    port = free_port()
    texts = ["--parallel", str(SLOTS), "--ctx-size", str(SLOTS * PASS_TOKENS)]
    passes = ["--batch-size", str(PASS_TOKENS), "--ubatch-size", str(PASS_TOKENS)]
    threads = ["--threads", str(THREADS), "--threads-batch", str(THREADS), "--threads-http", str(clients + 2)]
    settings = ["--embedding", *texts, *passes, *threads]
    command = [program, "--model", str(model), "--host", "127.0.0.1", "--port", str(port), *settings]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with _ended(process):
        _wait(process, f"http://127.0.0.1:{port}/health")
        yield Server(LLAMA_SERVER, port, process.pid, f"{_version(program)}, {' '.join(settings)}")


def _version(program: str) -> str:
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    lines = (done.stderr + done.stdout).splitlines()
    return next((line.removeprefix("version: ") for line in lines if line.startswith("version:")), "of unknown version")


@contextmanager
def _ended(process: subprocess.Popen[str] | subprocess.Popen[bytes]) -> Iterator[None]:
    try:
        yield
    finally:
        if (status := process.poll()) is not None:
            print(f"bench: a server ended by itself, with {status}", file=sys.stderr)
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout:
            process.stdout.close()


def _wait(process: subprocess.Popen[bytes], url: str) -> None:
    end = time.monotonic() + READY
    while time.monotonic() < end:
        if process.poll() is not None:
            raise RuntimeError(f"llama-server ended with {process.returncode}")
        with suppress(OSError), urllib.request.urlopen(url, timeout=5) as answer:
            if answer.status == 200:
                return
        time.sleep(0.1)
    raise RuntimeError(f"llama-server was not ready after {READY:g} s")


def free_port() -> int:
    """One that nobody listens on just now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
