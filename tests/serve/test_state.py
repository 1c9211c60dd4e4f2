"""A model whose file is rewritten while it is served, or that has no vector for a text."""

import asyncio
import os
import time

import httpx
import pytest

from bankml.models import choose
from bankml.serve.engines import Engines
from bankml.serve.errors import RefusedError
from bankml.serve.names import Names
from bankml.serve.state import State
from bankml.serve.workers import Workers
from oracle import seeded


def test_a_rewritten_file_is_loaded_anew(serving, home, tmp_path):
    path = seeded.tiny(tmp_path / "tiny.gguf")
    with serving(home, "--model", str(path)) as server:

        def embed() -> tuple[int, object]:
            answer = httpx.post(f"{server.url}/api/embed", json={"model": "tiny", "input": "sky"}, timeout=30)
            return answer.status_code, answer.json().get("embeddings", answer.text)

        before = embed()
        assert before[0] == 200
        for _ in range(2):
            time.sleep(0.02)  # the grain of mtime
            path.write_bytes(path.read_bytes())
            assert embed() == before
            assert httpx.post(f"{server.url}/v1/embeddings", json={"model": "tiny", "input": "sky"}).status_code == 200


def test_a_file_that_came_back_is_served_again(serving, home, tmp_path):
    path = seeded.tiny(tmp_path / "tiny.gguf")
    content = path.read_bytes()
    with serving(home, "--model", str(path)) as server:

        def status() -> int:
            return httpx.post(f"{server.url}/api/embed", json={"model": "tiny", "input": "sky"}, timeout=30).status_code

        assert status() == 200
        time.sleep(0.02)
        os.truncate(path, 100)
        assert status() in (400, 500)
        path.write_bytes(content)
        assert status() == 200


class Client:
    """The part of a request that workers look at: a client that stays."""

    async def receive(self) -> dict:
        await asyncio.sleep(1e6)
        return {"type": "http.disconnect"}


def test_a_text_without_a_vector_does_not_load_the_model_anew(tmp_path, overflowing):
    async def scene() -> None:
        choice = choose(str(overflowing(tmp_path / "overflow.gguf", "sky")))
        state = State(Names(choice), Engines(10**9), Workers(1))
        async with state.engines.hold(choice) as loaded:
            encoder = loaded.encoder
            with pytest.raises(RefusedError) as refusal:
                await state.encode(Client(), loaded, ["a", "sky"])
            assert (refusal.value.status, refusal.value.index) == (400, 1)
            assert loaded.encoder is encoder
        state.engines.close()
        state.workers.close()

    asyncio.run(scene())
