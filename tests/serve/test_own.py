"""bankml's own routes."""

import hashlib

import pytest

import bankml


@pytest.mark.parametrize("path", ["/health", "/health/live", "/health/ready"])
def test_health(http, path):
    answer = http.get(path)
    assert (answer.status_code, answer.json()["status"]) == (200, "ok")


def test_health_names_the_model(http):
    health = http.get("/health").json()
    assert health["model"] == "all-minilm-l6-v2"
    assert health["version"] == bankml.__version__


def test_info(http, encoder, minilm):
    info = http.get("/info").json()
    assert info["digest"] == hashlib.sha256(minilm.read_bytes()).hexdigest()
    assert (info["dims"], info["context_length"], info["pooling"]) == (384, 512, "mean")
    assert info["backend"] == encoder.backend


def test_tokenize(http, encoder):
    texts = ["why is the sky blue?", "", "word " * 1000]
    expected = [encoder.tokenize(text) for text in texts]
    answer = http.post("/tokenize", json={"model": "all-minilm", "input": texts})
    assert answer.json() == {"model": "all-minilm", "tokens": expected}
    answer = http.post("/tokenize", json={"input": texts[0]})
    assert answer.json() == {"model": "all-minilm-l6-v2", "tokens": expected[:1]}


def test_tokenize_refusals(http):
    assert http.post("/tokenize", json={}).status_code == 400
    assert http.post("/tokenize", json={"input": [1]}).status_code == 400
    assert http.post("/tokenize", json={"input": "a", "model": "nonesuch"}).status_code == 404
