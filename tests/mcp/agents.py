"""Clients of `bankml mcp`: the SDK's own, and one that sends any line."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from anyio.from_thread import start_blocking_portal
from mcp import Client, StdioServerParameters
from mcp.types import CallToolResult, Implementation

COMMAND = [sys.executable, "-m", "bankml", "mcp"]
PATIENCE = 120  # seconds: a busy machine needs ten to import the SDK


class Agent:
    """The SDK's client, from code that is not asynchronous."""

    def __init__(self, client: Client, call: Callable[..., Any]) -> None:
        self.client, self._call = client, call

    def call(self, tool: str, **arguments: Any) -> CallToolResult:
        return self._call(self.client.call_tool, tool, arguments)

    def answer(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """What the tool gives, which its text says too; a context pack's text is for people."""
        found = self.call(tool, **arguments)
        assert not found.is_error, found.content[0].text
        assert tool == "context" or json.loads(found.content[0].text) == found.structured_content
        return found.structured_content

    def refusal(self, tool: str, **arguments: Any) -> str:
        """The sentence that says why not."""
        found = self.call(tool, **arguments)
        assert found.is_error
        (content,) = found.content
        assert "\n" not in content.text
        return content.text

    def tools(self) -> dict[str, Any]:
        return {tool.name: tool for tool in self._call(self.client.list_tools).tools}


@contextmanager
def connected(to: Any, mode: str = "auto", name: str = "tests") -> Iterator[Agent]:
    """A client of the server at an address, or of a command that is started."""
    with start_blocking_portal() as portal:
        client = Client(to, mode=mode, client_info=Implementation(name=name, version="7.1"))
        with portal.wrap_async_context_manager(client) as entered:
            yield Agent(entered, portal.call)


def environment(home: Path, **more: str) -> dict[str, str]:
    """Of a server with its own home, which fetches nothing."""
    return {"BANKML_HOME": str(home), "OLLAMA_MODELS": str(home / "none"), "BANKML_SKIP_MODEL_DOWNLOAD": "1", **more}


def over_stdio(home: Path, *arguments: str, cwd: Path | None = None, **more: str) -> StdioServerParameters:
    """What starts a server for one client."""
    command, *rest = COMMAND
    return StdioServerParameters(
        command=command, args=[*rest, *arguments], env=environment(home, **more), cwd=cwd or Path.cwd()
    )


@contextmanager
def listening(home: Path, *arguments: str, **more: str) -> Iterator[tuple[str, subprocess.Popen]]:
    """A server over HTTP: its address, and its process."""
    command = [*COMMAND, "--http", "0", *arguments]
    env = os.environ | environment(home, **more)
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline()
            assert line.startswith("bankml: MCP at http://127.0.0.1:"), line
            yield line.split()[-1], process
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(PATIENCE)
            finally:
                process.kill()


class Wire:
    """A server's stdin and stdout, as they are."""

    def __init__(self, process: subprocess.Popen) -> None:
        self.process = process
        self._ids = iter(range(1, 10**9))
        self._kept = b""

    def send(self, line: bytes | dict) -> None:
        data = json.dumps(line).encode() if isinstance(line, dict) else line
        self.process.stdin.write(data + b"\n")
        self.process.stdin.flush()

    def line(self) -> dict:
        """The next message of the server's; everything that it writes must be one."""
        until = time.monotonic() + PATIENCE
        while b"\n" not in self._kept:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, until - time.monotonic()))
            assert ready, "the server is silent"
            data = os.read(self.process.stdout.fileno(), 2**16)
            assert data, f"the server ended with {self.process.wait(PATIENCE)}"
            self._kept += data
        line, _, self._kept = self._kept.partition(b"\n")
        found = json.loads(line)
        assert found["jsonrpc"] == "2.0"
        return found

    def begin(self, method: str, **params: Any) -> int:
        """Sends a request, whose id it gives."""
        id = next(self._ids)
        self.send({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        return id

    def request(self, method: str, **params: Any) -> dict:
        """The answer, past those of others."""
        id = self.begin(method, **params)
        while (found := self.line()).get("id") != id:
            pass
        return found

    def call(self, tool: str, **arguments: Any) -> dict:
        return self.request("tools/call", name=tool, arguments=arguments)["result"]

    def greet(self) -> None:
        """The handshake."""
        client = {"name": "wire", "version": "1"}
        self.request("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=client)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})


@contextmanager
def wired(home: Path, *arguments: str, cwd: Path | None = None, **more: str) -> Iterator[Wire]:
    """A server whose lines are seen; killed at the end if it has not ended by then."""
    env = os.environ | environment(home, **more)
    pipe = subprocess.PIPE
    with subprocess.Popen([*COMMAND, *arguments], env=env, cwd=cwd, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        try:
            yield Wire(process)
        finally:
            process.kill()


def resident(process: subprocess.Popen) -> int:
    """Bytes of its own in memory, without those of files."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(status.partition("RssAnon:")[2].split()[0]) << 10
