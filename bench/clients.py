"""`python -m bench.clients < PLAN`: many clients of a server in one process, which is not the bottleneck.

The bytes of every request are there before the clock runs, and of an answer only the head is read by this process:
sockets of the event loop, no HTTP library. What it takes itself is told as `cpu`. Imports nothing heavy.
"""

import asyncio
import json
import math
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from itertools import cycle
from typing import Any

READ_LIMIT = 1 << 26  # bytes of a line or head; bodies are read by their length


@dataclass(frozen=True)
class Plan:
    """What is asked: `bodies` in turn, of one address, by `clients` that each wait for an answer before they ask again.

    Nothing new is asked after `seconds` or `most` requests; what is not answered after `limit` seconds never is.
    With `interval` seconds between two requests nobody waits for answers. With a `job`, one more body, that is asked
    first and when it has been answered nothing new is asked.
    """

    host: str
    port: int
    path: str
    bodies: list[str]
    clients: int = 1
    seconds: float = math.inf
    most: int = sys.maxsize
    limit: float = 60.0
    interval: float = 0.0
    job: str | None = None


@dataclass
class Told:
    """What happened: seconds of each good answer, how many were refused or failed by status (0: the connection broke),
    how many had none in time, seconds from the first request to the last answer, seconds of the job."""

    seconds: list[float] = field(default_factory=list)
    refused: dict[str, int] = field(default_factory=dict)
    unanswered: int = 0
    elapsed: float = 0.0
    job: float | None = None
    cpu: float = 0.0  # of this process, as a share of one CPU
    body: str = ""  # of the first good answer


async def answer(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """Head, in small letters, and body, which has a length or comes in chunks. Raises EOFError when it breaks off."""
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    if b"\r\ntransfer-encoding: chunked" not in head:
        length = int(head.split(b"\r\ncontent-length:")[1].split(b"\r\n")[0])
        return head, await reader.readexactly(length)
    chunks = []
    while size := int(await reader.readuntil(b"\r\n"), 16):
        chunks.append(await reader.readexactly(size))
        await reader.readexactly(2)
    await reader.readuntil(b"\r\n")
    return head, b"".join(chunks)


class Connection:
    """One client's, opened again when the server has closed it."""

    def __init__(self, host: str, port: int) -> None:
        self._address = (host, port)
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def ask(self, request: bytes) -> tuple[int, bytes]:
        """Status and body; status 0 when the connection broke."""
        fresh = self._writer is None
        try:
            return await self._ask(request)
        except (OSError, EOFError):
            self.close()
            if fresh:
                return 0, b""
        try:  # a connection that had been kept may have been closed just then
            return await self._ask(request)
        except (OSError, EOFError):
            self.close()
            return 0, b""

    def close(self) -> None:
        """The next request opens a new one."""
        if self._writer:
            self._writer.close()
        self._reader = self._writer = None

    async def _ask(self, request: bytes) -> tuple[int, bytes]:
        if not self._reader or not self._writer:
            self._reader, self._writer = await asyncio.open_connection(*self._address, limit=READ_LIMIT)
        self._writer.write(request)
        head, body = await answer(self._reader)
        if b"connection: close" in head:
            self.close()
        return int(head.split(b" ", 2)[1]), body


class Crowd:
    """The clients of one plan."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._told = Told()
        self._requests = [self._bytes(body) for body in plan.bodies]
        self._start = self._last = 0.0

    async def run(self) -> Told:
        """Asks it all."""
        plan, told = self._plan, self._told
        cpu, self._start = time.process_time(), time.perf_counter()
        job = asyncio.create_task(self._job(self._bytes(plan.job))) if plan.job is not None else None
        asking = self._at_intervals(job) if plan.interval else self._closed()
        with suppress(TimeoutError):
            async with asyncio.timeout(plan.limit):
                await asking
                if job:
                    await job
        told.elapsed = (self._last or time.perf_counter()) - self._start
        told.cpu = (time.process_time() - cpu) / (time.perf_counter() - self._start)
        return told

    def _bytes(self, body: str) -> bytes:
        content = body.encode()
        head = f"POST {self._plan.path} HTTP/1.1\r\nHost: {self._plan.host}\r\nContent-Type: application/json\r\n"
        return f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content

    async def _closed(self) -> None:
        requests = self._until_time(cycle(self._requests))
        await asyncio.gather(*(self._client(requests) for _ in range(self._plan.clients)))

    async def _client(self, requests: Iterator[bytes]) -> None:
        connection = Connection(self._plan.host, self._plan.port)
        try:
            for request in requests:
                await self._one(connection, request)
        finally:
            connection.close()

    async def _at_intervals(self, job: asyncio.Task[None] | None) -> None:
        asked = []
        for number, request in enumerate(self._until_time(cycle(self._requests))):
            await asyncio.sleep(max(0.0, self._start + (number + 0.5) * self._plan.interval - time.perf_counter()))
            if job and job.done():
                break
            asked.append(asyncio.create_task(self._client(iter([request]))))
        await asyncio.gather(*asked)

    async def _one(self, connection: Connection, request: bytes) -> None:
        start = time.perf_counter()
        self._told.unanswered += 1
        status, body = await connection.ask(request)
        self._told.unanswered -= 1
        self._last = time.perf_counter()
        if status == 200:
            self._told.seconds.append(self._last - start)
            self._told.body = self._told.body or body.decode()
        else:
            self._told.refused[str(status)] = self._told.refused.get(str(status), 0) + 1

    async def _job(self, request: bytes) -> None:
        connection = Connection(self._plan.host, self._plan.port)
        status, body = await connection.ask(request)
        connection.close()
        if status != 200:
            raise RuntimeError(f"the job was answered {status}: {body[:200]!r}")
        self._told.job = time.perf_counter() - self._start

    def _until_time(self, requests: Iterator[bytes]) -> Iterator[bytes]:
        for number, request in enumerate(requests):
            if number >= self._plan.most or time.perf_counter() - self._start >= self._plan.seconds:
                return
            yield request


def percentile(seconds: Sequence[float], share: float) -> float:
    """The smallest value that at least `share` of all do not exceed; infinite for none."""
    return sorted(seconds)[max(0, math.ceil(share * len(seconds)) - 1)] if seconds else math.inf


def main() -> None:
    """One JSON object in, one out."""
    plan: dict[str, Any] = json.load(sys.stdin)
    print(json.dumps(asdict(asyncio.run(Crowd(Plan(**plan)).run()))))


if __name__ == "__main__":
    main()
