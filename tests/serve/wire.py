"""A server whose log is read, and raw bytes to it and back."""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import httpx

HEAD = "POST /api/embed HTTP/1.1\r\nHost: 127.0.0.1\r\n"
BODY = json.dumps({"model": "tiny", "input": "sky"}).encode()
SIZED = f"{HEAD}Content-Length: {len(BODY)}\r\n\r\n".encode() + BODY
GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


@dataclass
class Watched:
    """A server process. `patch`ed modules make its patience short."""

    process: subprocess.Popen
    log: IO[bytes]
    url: str = ""
    model: str = "tiny"

    @property
    def address(self) -> tuple[str, int]:
        host, _, port = self.url.partition("://")[2].rpartition(":")
        return host, int(port)

    def connect(self) -> socket.socket:
        return socket.create_connection(self.address, timeout=20)

    def logged(self) -> str:
        """All that it has written to stderr."""
        self.log.seek(0)
        return self.log.read().decode()

    def end(self, number: int = signal.SIGTERM, seconds: float = 30) -> int:
        """Its exit status after a signal."""
        self.process.send_signal(number)
        return self.process.wait(seconds)

    def descriptors(self) -> int:
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))


def command(*arguments: object, patch: str = "pass") -> list[str]:
    """`bankml serve` on a free port after the statement `patch`."""
    program = f"from bankml.cli import main; {patch}; main()"
    fixed = ["serve", "--native", "--port", "0", "--json"]
    return [sys.executable, "-c", program, *fixed, *map(str, arguments)]


@contextmanager
def watched(model: Path, *arguments: object, patch: str = "pass", **environment: str) -> Iterator[Watched]:
    """A server of `model` that is killed at the end if it has not ended."""
    with tempfile.TemporaryFile() as log:
        line = command("--model", model, *arguments, patch=patch)
        process = subprocess.Popen(line, env=os.environ | environment, stdout=subprocess.PIPE, stderr=log)
        try:
            server = Watched(process, log)
            ready = process.stdout.readline()
            assert ready, server.logged()
            server.url = json.loads(ready)["url"]
            yield server
        finally:
            process.kill()
            process.wait()
            process.stdout.close()


def refused(*arguments: object, **environment: str) -> tuple[int, str]:
    """Exit status and sentence of a server that does not start; its model is never looked at."""
    line = command("--model", "nonesuch", *arguments)
    done = subprocess.run(line, env=os.environ | environment, capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    return done.returncode, json.loads(done.stdout)["error"]


def vector(server: Watched, **options) -> list[float]:
    """What a good request is answered."""
    answer = httpx.post(f"{server.url}/api/embed", content=BODY, timeout=30, **options)
    assert answer.status_code == 200, answer.text
    return answer.json()["embeddings"][0]


def answers(client: socket.socket, count: int) -> list[tuple[int, dict[bytes, bytes], bytes]]:
    """Status, head and body of the next answers; fewer when the server closes."""
    found = []
    with client.makefile("rb") as stream:
        while len(found) < count and (line := stream.readline()):
            head = dict(line.rstrip().lower().split(b": ", 1) for line in iter(stream.readline, b"\r\n"))
            body = stream.read(int(head.get(b"content-length", 0)))
            found.append((int(line.split()[1]), head, body))
    return found


def statuses(client: socket.socket, count: int) -> list[int]:
    """Statuses of the next answers; fewer when the server closes."""
    return [status for status, _, _ in answers(client, count)]


def is_over(client: socket.socket) -> bool:
    """Whether the server has ended the connection, after what it still had to say."""
    try:
        while client.recv(65536):
            pass
    except ConnectionError:
        pass
    return True


def until(condition: Callable[[], bool], seconds: float = 60) -> None:
    """Wait for it; fail when it does not come."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)
