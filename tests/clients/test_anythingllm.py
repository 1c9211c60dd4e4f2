"""The calls of AnythingLLM: before every batch it asks whether Ollama is there, and it always sends `num_ctx`."""

import pytest

from tests.clients.bits import bits

TEXTS = [f"chunk {k} of a document" for k in range(12)]


@pytest.mark.parametrize("num_ctx", [256, 1000, 8192])  # of the user's settings, whatever the model has
@pytest.mark.parametrize("size", [1, 5])
def test_batches(http, encoder, size, num_ctx):
    rows = []
    for at in range(0, len(TEXTS), size):
        assert http.get("/").is_success
        body = {"model": "all-minilm", "input": TEXTS[at : at + size], "options": {"num_ctx": num_ctx}}
        rows += http.post("/api/embed", json=body).raise_for_status().json()["embeddings"]
    assert bits(rows) == bits(encoder.encode(TEXTS))
