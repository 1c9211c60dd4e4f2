"""The package `llama-index-embeddings-ollama`."""

import asyncio

import pytest

from tests.clients.bits import bits

TEXTS = [f"text {k}: why is the sky blue?" for k in range(25)]  # more than one of its batches of 10


@pytest.fixture(scope="module")
def client(server):
    from llama_index.embeddings.ollama import OllamaEmbedding

    return OllamaEmbedding("all-minilm", base_url=server.url, ollama_additional_kwargs={"num_ctx": 512})


def test_texts_and_a_query(client, encoder):
    assert bits(client.get_text_embedding_batch(TEXTS)) == bits(encoder.encode(TEXTS))
    assert bits(client.get_query_embedding(TEXTS[0])) == bits(encoder.encode(TEXTS[:1])[0])


def test_async(client, encoder):
    async def ask() -> list[list[float]]:
        return [*await client.aget_text_embedding_batch(TEXTS), await client.aget_query_embedding(TEXTS[0])]

    assert bits(asyncio.run(ask())) == bits(encoder.encode([*TEXTS, TEXTS[0]]))
