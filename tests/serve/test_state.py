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
from tests.raw_gguf import charsmap, octets, valid
from tests.serve.clients import Client

ROUTES = ["/api/embed", "/api/embeddings", "/v1/embeddings"]


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
        assert status() == 500
        path.write_bytes(content)
        assert status() == 200


@pytest.mark.parametrize("loaded_before", [False, True])
def test_a_model_that_cannot_be_loaded_is_the_servers_fault(applications, tmp_path, loaded_before):
    path = seeded.tiny(tmp_path / "tiny.gguf")
    content = path.read_bytes()
    body = {"model": "tiny", "input": "sky", "prompt": "sky"}
    with applications(path) as ask:
        if loaded_before:
            assert [ask("POST", route, json=body).status_code for route in ROUTES] == [200] * 3
        time.sleep(0.02)
        path.write_bytes(content[: len(content) // 2])
        for route in ROUTES:
            answer = ask("POST", route, json=body)
            assert (answer.status_code, "tiny.gguf" in answer.text) == (500, True), route
            assert not route.startswith("/v1/") or answer.json()["error"]["type"] == "api_error"
        path.write_bytes(content)
        assert [ask("POST", route, json=body).status_code for route in ROUTES] == [200] * 3


def test_a_rewritten_file_is_loaded_anew_by_the_older_route_too(applications, tmp_path):
    path = seeded.tiny(tmp_path / "tiny.gguf")
    with applications(path) as ask:
        assert ask("POST", "/api/embed", json={"model": "tiny", "input": "sky"}).status_code == 200
        time.sleep(0.02)
        path.write_bytes(path.read_bytes())
        assert ask("POST", "/api/embeddings", json={"model": "tiny", "prompt": "sky"}).status_code == 200


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
        state.close()

    asyncio.run(scene())


def test_a_fault_that_a_text_leads_to_is_its_own_and_does_not_load_the_model_anew(tmp_path):
    path, model = tmp_path / "broken.gguf", valid("unigram")
    model.keys["tokenizer.ggml.precompiled_charsmap"] = octets(charsmap(leaf=5))  # found at the first "w"
    path.write_bytes(model.bytes())

    async def scene() -> None:
        choice = choose(str(path))
        state = State(Names(choice), Engines(10**9), Workers(1))
        async with state.engines.hold(choice) as loaded:
            encoder = loaded.encoder
            for _ in range(3):
                with pytest.raises(RefusedError, match="precompiled_charsmap") as refusal:
                    await state.encode(Client(), loaded, ["a", "sky", "w"])
                assert (refusal.value.status, refusal.value.index) == (400, 2)
            assert loaded.encoder is encoder
            assert len((await state.encode(Client(), loaded, ["a", "sky"])).vectors) == 2
        state.close()

    asyncio.run(scene())


def test_a_fault_that_a_text_leads_to_names_the_input_everywhere(applications, tmp_path):
    path, model = tmp_path / "broken.gguf", valid("unigram")
    model.keys["tokenizer.ggml.precompiled_charsmap"] = octets(charsmap(leaf=5))
    path.write_bytes(model.bytes())
    with applications(path) as ask:
        body = {"model": "broken", "input": ["a", "w"], "prompt": "w"}
        found = {route: ask("POST", route, json=body).json() for route in (*ROUTES, "/tokenize")}
    indexes = [(error["error"] if "v1" in route else error)["index"] for route, error in found.items()]
    assert indexes == [1, 0, 1, 1]
