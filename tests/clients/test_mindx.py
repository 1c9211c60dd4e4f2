"""The calls of mindX, from its newest guess to its oldest, with the vectors of 1,024 that its tables have."""

import httpx
import numpy as np
import pytest

from tests.clients.bits import bits

CHUNK = "a document of many words " * 160  # it cuts at 4,000 characters


@pytest.fixture(scope="module")
def mindx(bge_m3):
    with httpx.Client(base_url=bge_m3.url, timeout=60) as client:
        yield client


def test_openais_address_with_a_single_string(mindx, bge_m3):
    answer = mindx.post("/v1/embeddings", json={"model": "bge-m3", "input": CHUNK}).raise_for_status().json()
    row = answer["data"][0]["embedding"]
    assert len(row) == 1024
    assert bits(row) == bits(bge_m3.encoder.encode([CHUNK])[0])


def test_ollamas_older_address(mindx, bge_m3):
    """Ollama gives bge-m3's vector there as the model made it, so its direction is the same and its length is not 1."""
    row = (
        mindx.post("/api/embeddings", json={"model": "bge-m3", "prompt": CHUNK}).raise_for_status().json()["embedding"]
    )
    raw, unit = bge_m3.encoder.encode([CHUNK], normalize=False)[0], bge_m3.encoder.encode([CHUNK])[0]
    assert bits(row) == bits(raw)
    np.testing.assert_allclose(np.array(row) / np.linalg.norm(row), unit, atol=1e-6)


def test_ollamas_address(mindx, bge_m3):
    body = {"model": "bge-m3", "input": CHUNK, "truncate": True}
    rows = mindx.post("/api/embed", json=body).raise_for_status().json()["embeddings"]
    assert bits(rows) == bits(bge_m3.encoder.encode([CHUNK]))
