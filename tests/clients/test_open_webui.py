"""The calls of Open WebUI: both of its engines, through the HTTP library that it uses."""

import asyncio
from itertools import cycle
from typing import Any

from tests.clients.bits import bits

BATCHES, SIZE = 200, 2
TEXTS = [[f"passage {batch} of a document, part {part}" for part in range(SIZE)] for batch in range(BATCHES)]
KEYS = ["", "sk-anything"]  # it sends the header always, without a key as `Authorization: Bearer `


def asked(url: str, bodies: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """All bodies at once, each in a session of its own, every other one without a key."""
    import aiohttp

    async def one(key: str, body: dict[str, Any]) -> dict[str, Any]:
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=120)) as session,
            session.post(url, headers=headers, json=body) as answer,
        ):
            assert answer.status == 200, await answer.text()
            found: dict[str, Any] = await answer.json()
            return found

    async def all_at_once() -> list[dict[str, Any]]:
        return await asyncio.gather(*map(one, cycle(KEYS), bodies))

    return asyncio.run(all_at_once())


def test_engine_ollama(server, encoder):
    bodies = [{"input": texts, "model": "all-minilm:latest", "truncate": True} for texts in TEXTS]
    answers = asked(f"{server.url}/api/embed", bodies)
    rows = [row for answer in answers for row in answer["embeddings"]]
    assert bits(rows) == bits(encoder.encode([text for texts in TEXTS for text in texts]))


def test_engine_openai(server, encoder):
    bodies = [{"input": texts, "model": "all-minilm", "prefix": "query: "} for texts in TEXTS]
    answers = asked(f"{server.url}/v1/embeddings", bodies)
    rows = [row["embedding"] for answer in answers for row in answer["data"]]
    assert bits(rows) == bits(encoder.encode([text for texts in TEXTS for text in texts]))
