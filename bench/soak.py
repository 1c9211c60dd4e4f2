"""`make bench-soak` (`python -m bench.soak`): half an hour of random requests, and what the server keeps of them.

Clients ask for texts of random lengths, up to all 8,192 positions of a small seeded model, and hang up at random:
half way through a request, while they wait, half way through an answer. The server's memory has to stay where it was
after the warm-up, and at the end no descriptor or thread may be left. Exit status 1 when that is not so.
"""

import argparse
import asyncio
import json
import os
import random
import statistics
import struct
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from socket import SO_LINGER, SOL_SOCKET
from tempfile import TemporaryDirectory
from typing import Any

from bench import corpus, resident, results, servers
from bench.clients import READ_LIMIT, answer

CLIENTS = 6
BURST = 64  # requests at once, before the clock runs
POSITIONS = 8192
TEXTS = 64  # at most, in a request; together at most POSITIONS words
GIVEN_UP = 0.2  # share of the requests whose client hangs up
PATIENCE = 120.0  # seconds for one answer
SAMPLE = 0.5  # seconds between two looks at the process
QUIET = 2.0  # seconds after which nothing of a request is left
WARM = 0.2  # share of the time that does not count
GROWTH = 0.05  # allowed, of resident memory
LATE = 4  # threads of pools, which start one when all others are busy; a leak has one for many a request
PROBE = "why is the sky blue?"


@dataclass
class Figures:
    """What was seen: resident bytes by time, descriptors and threads at rest before and after, and the answers."""

    resident: list[int] = field(default_factory=list)
    descriptors: list[int] = field(default_factory=list)
    threads: list[int] = field(default_factory=list)
    answers: int = 0
    given_up: int = 0
    wrong: list[str] = field(default_factory=list)  # of an answer: what is wrong with it
    longest: int = 0  # tokens of the longest text


class Soak:
    """Clients of one server, and a look at its process."""

    def __init__(self, server: servers.Server, seed: int) -> None:
        self._server = server
        self._random = random.Random(seed)
        self._words = corpus.PROSE.read_text(encoding="utf-8").split()
        self._probe: list[float] = []
        self.found = Figures()

    async def run(self, seconds: float) -> Figures:
        """Warms up and begins. Raises RuntimeError when the server ends meanwhile."""
        await self._warm_up()
        await self._look_at_rest()
        end = time.monotonic() + seconds
        await asyncio.gather(self._watch(end), *(self._client(end) for _ in range(CLIENTS)))
        await self._look_at_rest()
        await self._ask([PROBE])
        return self.found

    async def _warm_up(self) -> None:
        """All that can be at once: pools then have their threads, and buffers and arenas their sizes."""
        words = self._words * (POSITIONS // len(self._words) + 1)
        most = [" ".join(words[: POSITIONS // TEXTS])] * TEXTS
        await asyncio.gather(*(self._ask([PROBE]) for _ in range(BURST)))
        for texts in ([" ".join(words)], most):
            await asyncio.gather(*(self._ask(texts) for _ in range(CLIENTS)))

    async def _watch(self, end: float) -> None:
        while time.monotonic() < end:
            try:
                self.found.resident.append(resident.now(self._server.pid).total)
            except (OSError, KeyError):  # a process that has ended has no memory
                raise RuntimeError(f"the server ended after {self.found.answers} answers") from None
            await asyncio.sleep(SAMPLE)

    async def _look_at_rest(self) -> None:
        await asyncio.sleep(QUIET)
        process = Path(f"/proc/{self._server.pid}")
        self.found.descriptors.append(len(os.listdir(process / "fd")))
        self.found.threads.append(len(os.listdir(process / "task")))

    async def _client(self, end: float) -> None:
        while time.monotonic() < end:
            texts = self._texts()
            if self._random.random() < GIVEN_UP:
                await self._hang_up(texts)
            else:
                await self._ask(texts)

    def _texts(self) -> list[str]:
        """The probe and others, most of them short; lengths are even on a logarithmic scale."""
        count = round(TEXTS ** self._random.random())
        longest = POSITIONS // count
        lengths = [round(longest ** self._random.random()) for _ in range(count - 1)]
        return [PROBE, *(" ".join(self._random.choices(self._words, k=length)) for length in lengths)]

    async def _ask(self, texts: list[str]) -> None:
        """Raises nothing: what is wrong with an answer is kept."""
        try:
            async with asyncio.timeout(PATIENCE):
                status, body = await self._exchange(self._request(texts))
        except (OSError, EOFError, TimeoutError) as error:
            self.found.wrong.append(repr(error))
            return
        if status != 200:
            self.found.wrong.append(f"{status}: {body[:200]!r}")
            return
        told = json.loads(body)
        self.found.answers += 1
        self.found.longest = max(self.found.longest, told["prompt_eval_count"] // len(texts))
        self._check(texts, told["embeddings"])

    def _check(self, texts: list[str], rows: list[list[float]]) -> None:
        if len(rows) != len(texts):
            self.found.wrong.append(f"{len(rows)} vectors of {len(texts)} texts")
        if texts[0] == PROBE:
            self._probe = self._probe or rows[0]
            if rows[0] != self._probe:
                self.found.wrong.append("the vector of the same text is another one")

    def _request(self, texts: list[str]) -> bytes:
        content = json.dumps({"model": self._server.model, "input": texts}).encode()
        head = f"POST /api/embed HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(content)}\r\n\r\n"
        return head.encode() + content

    async def _exchange(self, request: bytes) -> tuple[int, bytes]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._server.port, limit=READ_LIMIT)
        try:
            writer.write(request)
            head, body = await answer(reader)
            return int(head.split(b" ", 2)[1]), body
        finally:
            writer.close()

    async def _hang_up(self, texts: list[str]) -> None:
        """Half way through the request, while waiting, or half way through the answer; now and then with a reset."""
        request, where = self._request(texts), self._random.random()
        with suppress(OSError, EOFError, TimeoutError):
            reader, writer = await asyncio.open_connection("127.0.0.1", self._server.port)
            try:
                writer.write(request[: len(request) // 2] if where < 0.3 else request)
                async with asyncio.timeout(PATIENCE if where > 0.7 else 0.2 * self._random.random()):
                    await reader.readexactly(200 if where > 0.7 else 1)
            finally:
                if self._random.random() < 0.5:
                    writer.get_extra_info("socket").setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))
                writer.close()
        self.found.given_up += 1


def plateau(resident_bytes: Sequence[int]) -> tuple[float, float]:
    """Bytes at the foot of the first and of the last third of the time, without what came while warming up.

    The foot is the lowest decile: what a request needs for a moment comes and goes, what leaks stays.
    """
    counted = resident_bytes[round(WARM * len(resident_bytes)) :]
    third = max(2, len(counted) // 3)
    return _foot(counted[:third]), _foot(counted[-third:])


def _foot(resident_bytes: Sequence[int]) -> float:
    return statistics.quantiles(resident_bytes, n=10, method="inclusive")[0]


def growth(found: Figures) -> float:
    """Of resident memory, from the first third to the last."""
    first, last = plateau(found.resident)
    return last / first - 1


def broken(found: Figures, slack: float = 0.0) -> list[str]:
    """A sentence for each promise that the figures break. `slack`: bytes that memory may grow by in any case."""
    (first, last), sentences = plateau(found.resident), []
    if last > max((1 + GROWTH) * first, first + slack):
        sentences.append(f"resident memory grew by {last / first - 1:.1%}, {GROWTH:.0%} is allowed")
    for what, (before, after), more in (("descriptors", found.descriptors, 0), ("threads", found.threads, LATE)):
        if after > before + more:
            sentences.append(f"{before} {what} at rest before, {after} after")
    if found.wrong:
        sentences.append(f"{len(found.wrong)} answers were wrong, the first: {found.wrong[0]}")
    return sentences


def soaked(seconds: float, seed: int = 0, model: Path | None = None) -> Figures:
    """The figures of a server of its own, on a small seeded model unless another is named."""
    from oracle import seeded

    with TemporaryDirectory() as folder:
        path = model or seeded.tiny(Path(folder) / "soak.gguf", vocabulary="unigram", positions=POSITIONS)
        with servers.bankml(path) as server:
            return asyncio.run(Soak(server, seed).run(seconds))


def line(found: Figures) -> str:
    """The figures in words."""
    megabytes = [f"{each / 1e6:.0f}" for each in (found.resident[0], max(found.resident), found.resident[-1])]
    return (
        f"{found.answers} answers, {found.given_up} given up, texts of up to {found.longest:,} tokens; resident "
        f"{megabytes[0]} MB at first, {megabytes[1]} at most, {megabytes[2]} at last: {growth(found):+.1%}; "
        f"descriptors {found.descriptors[0]} and {found.descriptors[1]}, threads {found.threads[0]} and "
        f"{found.threads[1]} at rest"
    )


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description=__doc__)
    parser.add_argument("--seconds", type=float, default=1800.0, help="how long (default 1800)")
    parser.add_argument("--seed", type=int, default=0, help="of lengths and hang-ups (default 0)")
    parser.add_argument("--model", type=Path, help="a GGUF file (default: a small one with 8,192 positions)")
    options = parser.parse_args()
    found = soaked(options.seconds, options.seed, options.model)
    kept: dict[str, Any] = {"soak": vars(found) | {"growth": growth(found)}}
    print(f"{line(found)}\n{results.keep('soak', kept)[0]}")
    for sentence in broken(found):
        print(f"bench: {sentence}", file=sys.stderr)
    return 1 if broken(found) else 0


if __name__ == "__main__":
    sys.exit(main())
