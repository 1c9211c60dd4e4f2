"""The command in this process and in one of its own, and what it printed."""

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pytest

from bankml.encoder import Encoder


class Output(bytes):
    """JSON lines that a command printed."""

    @property
    def lines(self) -> list[dict]:
        return [json.loads(line) for line in self.splitlines()]

    @property
    def vectors(self) -> bytes:
        """Bits of the vectors, as float32."""
        return np.array([line["embedding"] for line in self.lines], np.float32).tobytes()


@dataclass
class Done:
    status: int
    out: Output
    err: bytes


@pytest.fixture(scope="session")
def command() -> Callable[..., Done]:
    """Runs the real command in a process of its own."""

    def run(*arguments: str | bytes, text: bytes | None = None) -> Done:
        whole = [sys.executable, "-m", "bankml", *arguments]
        done = subprocess.run(whole, input=text, capture_output=True, timeout=60)
        return Done(done.returncode, Output(done.stdout), done.stderr)

    return run


@pytest.fixture(scope="session")
def terminal() -> Callable[..., tuple[int, str]]:
    """Runs the real command with a terminal of 200 columns as its stdout and stderr: its status and what was shown."""

    def run(*arguments: str, columns: int = 200) -> tuple[int, str]:
        try:
            ours, theirs = pty.openpty()
        except OSError as error:
            pytest.skip(f"no terminal to be had here: {error}")
        whole = [sys.executable, "-m", "bankml", *arguments]
        env = {**os.environ, "TERM": "xterm", "COLUMNS": str(columns)}
        with subprocess.Popen(whole, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, env=env) as process:
            os.close(theirs)
            shown = b"".join(iter(lambda: read(ours), b""))
        os.close(ours)
        return process.returncode, shown.decode()

    return run


def read(terminal: int) -> bytes:
    """What is shown next; nothing once the other side is closed."""
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""


@pytest.fixture
def here(capfdbinary) -> Callable[..., Done]:
    """Runs the command in this process, which is quicker."""
    from bankml.cli.app import run

    def run_here(*arguments: str) -> Done:
        status = run(list(arguments))
        out, err = capfdbinary.readouterr()
        return Done(status, Output(out), err)

    return run_here


@pytest.fixture(scope="session")
def encoder(minilm) -> Iterator[Encoder]:
    """The same model in this process."""
    with Encoder(minilm) as encoder:
        yield encoder
