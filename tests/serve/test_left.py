"""What clients asked for and left keeps nobody waiting."""

import asyncio
import re
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from starlette.requests import Request

from bankml.models import choose
from bankml.serve import catalogue, openai, resident
from bankml.serve.app import create_app
from bankml.serve.engines import Engines
from bankml.serve.errors import RefusedError
from bankml.serve.names import Names
from bankml.serve.state import State
from bankml.serve.workers import Workers


@contextmanager
def no_thread_free():
    """All threads that asyncio shares are busy."""
    go, pool = threading.Event(), ThreadPoolExecutor(1)
    asyncio.get_running_loop().set_default_executor(pool)
    pool.submit(go.wait)
    try:
        yield pool
    finally:
        go.set()


@pytest.fixture
def shared(tiny, stocked_home):
    shutil.copy(tiny, stocked_home / "models" / "other.gguf")
    state = State(Names(choose(str(tiny))), Engines(10**9, threads=1), Workers(1))
    yield state
    state.close()


def asked(shared, path: str, **parameters) -> Request:
    """A request whose client leaves at once."""
    messages = [{"type": "http.request", "body": b'{"model": "tiny"}', "more_body": False}]
    app = create_app(shared, loopback=True)

    async def receive():
        return messages.pop() if messages else {"type": "http.disconnect"}

    scope = {"type": "http", "method": "GET", "path": path, "headers": [], "app": app, "path_params": parameters}
    scope["bankml.ledger"] = shared.ledger
    return Request(scope, receive)


def test_another_model_is_found_and_loaded_meanwhile(shared):
    async def scene() -> None:
        with no_thread_free():
            choice = await asyncio.wait_for(shared.names.find("other"), 20)
            await asyncio.wait_for(shared.engines.hold(choice).__aenter__(), 20)
        assert [loaded.choice.name for loaded in shared.engines.loaded()] == ["other"]
        shared.engines.close()

    asyncio.run(scene())


@pytest.mark.parametrize(
    ("route", "path", "parameters"),
    [
        (catalogue.ps, "/api/ps", {}),
        (catalogue.tags, "/api/tags", {}),
        (catalogue.show, "/api/show", {}),
        (openai.models, "/v1/models", {}),
        (openai.model, "/v1/models/tiny", {"id": "tiny"}),
    ],
)
def test_a_listing_that_nobody_waits_for_any_more_is_not_made(shared, route, path, parameters):
    async def scene() -> None:
        with no_thread_free() as pool:
            with pytest.raises(RefusedError) as refusal:
                await asyncio.wait_for(route(asked(shared, path, **parameters)), 20)
            assert refusal.value.status == 499
            waiting = pool._work_queue.get_nowait().future
            for _ in range(600):
                if waiting.cancelled():
                    break
                await asyncio.sleep(0.05)
            assert waiting.cancelled()

    asyncio.run(scene())


def test_lines_about_a_mapping_are_not_taken_for_one(tmp_path, monkeypatch):
    """There are 25 of them for each mapping."""
    smaps, looked = tmp_path / "smaps", []
    smaps.write_text("7f00-7f01 r--p 00000000 fe:01 77   /a\nSize: 8 kB\nRss:   8 kB\nVmFlags: rd mr\n" * 2)

    class Looking:
        def fullmatch(self, line: str) -> re.Match | None:
            looked.append(line)
            return mapping.fullmatch(line)

    mapping = resident._MAPPING
    monkeypatch.setattr(resident, "_MAPPING", Looking())
    assert resident.mapped(tmp_path / "a", 0xFE << 8 | 1, 77, smaps) == 16 << 10
    assert len(looked) == 2
