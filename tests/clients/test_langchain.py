"""The packages `langchain-ollama` and `langchain-openai`."""

import asyncio
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.clients.bits import bits

TEXTS = ["why is the sky blue?", "Der Himmel ist blau.", "天空是蓝色的。", "one two three"]


@pytest.fixture(scope="module")
def ollama(server):
    from langchain_ollama import OllamaEmbeddings

    # It looks for the name in /api/tags, where aliases are not.
    about = {"num_ctx": 512, "keep_alive": 300, "validate_model_on_init": True}
    return OllamaEmbeddings(model="all-minilm-l6-v2", base_url=server.url, **about)


@pytest.fixture
def openai(server):
    """`OpenAIEmbeddings` of the shared server with more arguments."""
    from langchain_openai import OpenAIEmbeddings

    def make(**arguments) -> OpenAIEmbeddings:
        return OpenAIEmbeddings(model="all-minilm", base_url=f"{server.url}/v1", api_key="none", **arguments)

    return make


def test_ollama(ollama, encoder):
    assert bits(ollama.embed_documents(TEXTS)) == bits(encoder.encode(TEXTS))
    assert bits(ollama.embed_query(TEXTS[0])) == bits(encoder.encode(TEXTS[:1])[0])


def test_ollama_async(ollama, encoder):
    async def ask() -> list[list[float]]:
        return [*await ollama.aembed_documents(TEXTS), await ollama.aembed_query(TEXTS[0])]

    assert bits(asyncio.run(ask())) == bits(encoder.encode([*TEXTS, TEXTS[0]]))


def test_openai_with_texts(openai, encoder):
    client = openai(check_embedding_ctx_length=False)
    assert bits(client.embed_documents(TEXTS)) == bits(encoder.encode(TEXTS))
    assert bits(client.embed_query(TEXTS[0])) == bits(encoder.encode(TEXTS[:1])[0])
    cut = openai(check_embedding_ctx_length=False, dimensions=64)
    assert bits(cut.embed_documents(TEXTS)) == bits(encoder.encode(TEXTS, dimensions=64))


def test_openai_async(openai, encoder):
    client = openai(check_embedding_ctx_length=False)
    assert bits(asyncio.run(client.aembed_documents(TEXTS))) == bits(encoder.encode(TEXTS))


def test_openai_with_token_ids_is_told_the_switch(openai, monkeypatch):
    """By default it sends ids of OpenAI's vocabulary, whose file llama-index ships: tiktoken would download it."""
    from openai import BadRequestError

    package = find_spec("llama_index.core")
    cache = Path(package.submodule_search_locations[0]) / "_static" / "tiktoken_cache"
    assert cache.is_dir()
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(cache))
    with pytest.raises(BadRequestError, match="check_embedding_ctx_length=False") as error:
        openai(max_retries=0).embed_documents(TEXTS)
    assert error.value.status_code == 400
