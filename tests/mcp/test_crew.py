"""A few threads for calls that cannot be stopped."""

import asyncio
import threading
from collections.abc import Awaitable, Callable

import pytest

from bankml.mcp.crew import Crew

PATIENCE = 60.0


class Held:
    """Calls that last until they are let go."""

    def __init__(self) -> None:
        self.begun: list[int] = []
        self.threads: set[str] = set()
        self.go = threading.Event()

    def call(self, number: int) -> Callable[[], int]:
        def work() -> int:
            self.begun.append(number)
            self.threads.add(threading.current_thread().name)
            assert self.go.wait(PATIENCE)
            return number

        return work


def run(work: Awaitable[None]) -> None:
    asyncio.run(asyncio.wait_for(work, PATIENCE))


async def begun(held: Held, count: int) -> None:
    while len(held.begun) < count:
        await asyncio.sleep(0.001)


def test_calls_that_wait_are_taken_back_and_those_that_run_keep_their_threads() -> None:
    async def work() -> None:
        crew, held = Crew(2, "crew"), Held()
        calls = [asyncio.create_task(crew.run(held.call(n))) for n in range(100)]
        await begun(held, 2)
        for call in calls:
            call.cancel()
        await asyncio.wait(calls)
        last = asyncio.create_task(crew.run(held.call(100)))
        await asyncio.sleep(0.05)
        assert sorted(held.begun) == [0, 1]  # cancelled, and they have the two threads still
        held.go.set()
        assert await last == 100
        assert sorted(held.begun) == [0, 1, 100]
        assert len(held.threads) == 2
        crew.close(PATIENCE)

    run(work())


def test_what_a_call_raises_is_raised_and_the_thread_goes_on() -> None:
    async def work() -> None:
        crew = Crew(1, "crew")
        with pytest.raises(ZeroDivisionError):
            await crew.run(lambda: 1 // 0)
        assert await crew.run(lambda: 7) == 7
        crew.close(PATIENCE)

    run(work())


def test_closing_waits_for_what_runs_and_no_longer_than_it_may() -> None:
    async def work() -> None:
        crew, held = Crew(1, "crew of one"), Held()
        call = asyncio.create_task(crew.run(held.call(0)))
        await begun(held, 1)
        (thread,) = (each for each in threading.enumerate() if each.name == "crew of one 1")
        crew.close(0.01)
        assert thread.is_alive()
        assert thread.daemon
        held.go.set()
        crew.close(PATIENCE)
        assert not thread.is_alive()
        assert await call == 0

    run(work())
