"""A few threads for calls that nobody can stop once they have begun."""

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

import anyio

from bankml.mcp.aside import Aside

T = TypeVar("T")


class Crew:
    """Makes `most` calls at once; the others wait for their turn. Belongs to one event loop."""

    def __init__(self, most: int, name: str) -> None:
        self._turn = anyio.Semaphore(most)
        self._name = name
        self._all: list[Aside] = []
        self._free: list[Aside] = []

    async def run(self, call: Callable[[], T]) -> T:
        """What `call` gives or raises. Who is cancelled takes back a call that waits; one that has begun ends itself.

        It keeps its thread until then: were another one started in its place, whoever asks and cancels would have as
        many threads as calls.
        """
        await self._turn.acquire()
        aside = self._free.pop() if self._free else self._another()
        answer = aside.begin(call)
        answer.add_done_callback(lambda _: self._ended(aside))
        return await asyncio.shield(answer)

    def close(self, patience: float) -> None:
        """Nothing more is called; what has begun has so many seconds to end."""
        until = time.monotonic() + patience
        for aside in self._all:
            aside.close()
        for aside in self._all:
            aside.join(until - time.monotonic())

    def _another(self) -> Aside:
        self._all.append(Aside(f"{self._name} {len(self._all) + 1}"))
        return self._all[-1]

    def _ended(self, aside: Aside) -> None:
        self._free.append(aside)
        self._turn.release()
