"""A real server process on a free port, as a person would start it."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Server:
    url: str
    process: subprocess.Popen
    ready: dict  # what `serve --json` printed


@contextmanager
def running(
    home: Path, *arguments: str, native: bool = True, within: Sequence[str] = (), **environment: str
) -> Iterator[Server]:
    """`bankml serve` with its own home, ended by SIGTERM. `within`: a command that runs another one."""
    env = {name: value for name, value in os.environ.items() if name not in ("BANKML_EMBED_MODEL", "MINDX_EMBED_MODEL")}
    env |= {"BANKML_HOME": str(home), "OLLAMA_MODELS": str(home / "no-store"), "BANKML_SKIP_MODEL_DOWNLOAD": "1"}
    command = [*within, sys.executable, "-m", "bankml", "serve", "--port", "0", "--json", *arguments]
    command += ["--native"] * native
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
