"""What happens to a model, or to the process, while it is served; the next good request is answered right."""

import os
import resource
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import numpy as np
import pytest

from bankml.encoder import Encoder
from bankml.serve.errors import NO_MEMORY
from oracle import seeded
from tests.serving import Server


def embed(url: str, name: str, texts: list[str], **more: object) -> httpx.Response:
    return httpx.post(f"{url}/api/embed", json={"model": name, "input": texts, **more}, timeout=60)


def vectors(answer: httpx.Response) -> bytes:
    assert answer.status_code == 200, answer.text
    return np.array(answer.json()["embeddings"], np.float32).tobytes()


@pytest.mark.parametrize("delay", [0.0, 0.03, 0.1, 0.2])
def test_a_server_that_was_killed_during_a_load_starts_again(serving, home: Path, e5: Path, tiny: Path, delay) -> None:
    with serving(home, "--model", str(tiny)) as server:

        def ask() -> None:
            with pytest.raises(httpx.HTTPError):
                embed(server.url, "e5-small", ["word " * 500] * 100)

        client = threading.Thread(target=ask)
        client.start()
        time.sleep(delay)
        server.process.send_signal(signal.SIGKILL)
        client.join()
    with serving(home, "--model", str(tiny)) as server, Encoder(e5) as encoder:
        assert vectors(embed(server.url, "e5-small", ["sky"])) == encoder.encode(["sky"]).tobytes()


@contextmanager
def narrowed(server: Server, extra: int) -> Iterator[None]:
    """The process may map `extra` bytes more than it has."""
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    size = next(int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("VmSize"))
    limits = resource.prlimit(server.process.pid, resource.RLIMIT_AS)
    resource.prlimit(server.process.pid, resource.RLIMIT_AS, (size + extra, limits[1]))
    try:
        yield
    finally:
        resource.prlimit(server.process.pid, resource.RLIMIT_AS, limits)


@pytest.fixture
def wide(home: Path) -> Iterator[Path]:
    """A model in the home of the tests' servers whose longest pass takes 120 MB."""
    sizes = {"layers": 1, "hidden": 1024, "heads": 16, "ffn": 4096, "positions": 8192}
    path = seeded.tiny(home / "models" / "wide.gguf", vocabulary="unigram", **sizes)
    yield path
    path.unlink()


def test_where_allocating_fails_the_request_fails_and_not_the_server(serving, home: Path, tiny, wide, capfd) -> None:
    with serving(home, "--model", str(tiny)) as server, Encoder(wide) as encoder:
        assert embed(server.url, "tiny", ["a"]).status_code == 200
        with narrowed(server, 20_000_000):
            answer = embed(server.url, "e5-small", ["a"])  # its map is 74 MB
        assert (answer.status_code, "cannot be mapped" in answer.text) == (500, True)
        assert embed(server.url, "wide", ["a"]).status_code == 200
        with narrowed(server, 20_000_000):
            answer = embed(server.url, "wide", ["a b c d " * 4000])
        assert (answer.status_code, answer.json()) == (500, {"error": NO_MEMORY})
        assert vectors(embed(server.url, "wide", ["sky"])) == encoder.encode(["sky"]).tobytes()
        assert embed(server.url, "e5-small", ["a"]).status_code == 200
    assert "Traceback" not in capfd.readouterr().err


def truncated(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def grown(path: Path) -> None:
    with path.open("ab") as file:
        file.write(bytes(4096))


def another(path: Path) -> None:
    os.replace(seeded.tiny(path.with_suffix(".new"), seed=9), path)


@pytest.mark.parametrize(
    ("fault", "during"),
    [(truncated, {200, 500}), (os.unlink, {200, 404}), (grown, {200}), (another, {200})],
)
def test_a_file_that_changes_while_texts_are_encoded(
    serving, home: Path, tmp_path: Path, tiny: Path, fault: Callable[[Path], None], during: set[int]
) -> None:
    """Many requests while the file changes: each is answered; then the file is whole and so is the answer."""
    path = home / "models" / "changing.gguf"
    whole = seeded.tiny(tmp_path / "whole.gguf", layers=4)
    shutil.copy(whole, path)
    try:
        with serving(home, "--model", str(tiny)) as server:
            statuses: set[int] = set()

            def ask() -> None:
                for _ in range(8):
                    statuses.add(embed(server.url, "changing", ["some words"] * 300).status_code)

            clients = [threading.Thread(target=ask) for _ in range(4)]
            for client in clients:
                client.start()
            time.sleep(0.3)
            fault(path)
            for client in clients:
                client.join()
            assert statuses <= during
            shutil.copy(whole, path)
            with Encoder(whole) as encoder:
                assert vectors(embed(server.url, "changing", ["sky"])) == encoder.encode(["sky"]).tobytes()
            assert len(httpx.get(f"{server.url}/api/ps").json()["models"]) == 2
    finally:
        path.unlink(missing_ok=True)
