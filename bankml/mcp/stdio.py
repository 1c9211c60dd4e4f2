"""The server over stdin and stdout, of the one client that started it."""

import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server import Server
from mcp.shared.message import SessionMessage
from mcp.types import (
    INVALID_REQUEST,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)

from bankml.mcp.aside import Aside
from bankml.mcp.lines import lines
from bankml.mcp.messages import message, refused

MOST_LINE = 8 * 2**20  # bytes of a message
MOST_PENDING = 256  # requests; what else is asked waits to be read
LOOK = 0.02  # seconds
LONG = f"this line is longer than {MOST_LINE // 2**20} MiB: send less in one message"
SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Wire:
    """Messages of one client, from one descriptor and to another."""

    def __init__(self, stdin: int, stdout: int) -> None:
        self._stdin, self._stdout = stdin, stdout
        self._pending: set[Any] = set()  # ids of requests that were not answered yet

    async def read(
        self,
        incoming: MemoryObjectSendStream[SessionMessage | Exception],
        answers: MemoryObjectSendStream[SessionMessage],
    ) -> None:
        """Passes on what comes, in its order, and answers what is no message; at the end waits for what was asked."""
        aside, found = Aside("stdin"), lines(partial(_read, self._stdin), MOST_LINE)
        async with incoming, answers:
            while (line := await aside.begin(lambda: next(found, b""))) != b"":
                read, error = (None, refused(INVALID_REQUEST, LONG)) if line is None else message(line)
                if error:
                    await answers.send(SessionMessage(error))
                elif read:
                    await self._ask(read, incoming)
            await self._fewer_than(1)

    async def write(self, answers: MemoryObjectReceiveStream[SessionMessage]) -> None:
        """Sends what is answered, each on its line, until nothing more is or nobody reads it."""
        aside = Aside("stdout")
        async with answers:
            async for answer in answers:
                line = answer.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
                await aside.begin(partial(_write, self._stdout, line))
                if isinstance(answer.message, JSONRPCResponse | JSONRPCError):
                    self._pending.discard(answer.message.id)

    async def _ask(self, read: JSONRPCMessage, incoming: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        if isinstance(read, JSONRPCRequest):
            await self._fewer_than(MOST_PENDING)
            self._pending.add(read.id)
        elif isinstance(read, JSONRPCNotification) and read.method == "notifications/cancelled":
            self._forget((read.params or {}).get("requestId"))
        await incoming.send(SessionMessage(read))

    def _forget(self, id: Any) -> None:
        with suppress(TypeError):  # no id at all
            self._pending.discard(id)

    async def _fewer_than(self, most: int) -> None:
        while len(self._pending) >= most:
            await anyio.sleep(LOOK)


async def serve(server: Server[Any], stdin: int, stdout: int) -> signal.Signals | None:
    """Until nothing more comes from `stdin`, or nobody reads `stdout`, or a signal: which one."""
    incoming, asked = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    answers, answered = anyio.create_memory_object_stream[SessionMessage](0)
    wire = Wire(stdin, stdout)
    async with anyio.create_task_group() as tasks, _signals(tasks.cancel_scope) as ended:

        async def write() -> None:
            with suppress(OSError):
                await wire.write(answered)
            tasks.cancel_scope.cancel()

        tasks.start_soon(wire.read, incoming, answers.clone())
        tasks.start_soon(write)
        await server.run(asked, answers, server.create_initialization_options())
    return next(iter(ended), None)


@contextmanager
def claimed() -> Iterator[tuple[int, int]]:
    """stdin and stdout for the protocol alone, as descriptors.

    What any library prints goes to stderr within the block, and nobody else reads what the client sends.
    """
    sys.stdout.flush()
    stdin, stdout, nothing = os.dup(0), os.dup(1), os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    try:
        yield stdin, stdout
    finally:
        sys.stdout.flush()
        os.dup2(stdout, 1)


@asynccontextmanager
async def _signals(scope: anyio.CancelScope) -> AsyncIterator[list[signal.Signals]]:
    """The first signal cancels `scope` and is told; the second ends the process."""
    ended: list[signal.Signals] = []

    async def heed() -> None:
        with anyio.open_signal_receiver(*SIGNALS) as signals:
            async for number in signals:
                ended.append(number)
                break
        for number in SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        scope.cancel()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(heed)
        yield ended
        tasks.cancel_scope.cancel()


def _read(descriptor: int, size: int) -> bytes:
    try:
        return os.read(descriptor, size)
    except OSError:  # the terminal is gone
        return b""


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
