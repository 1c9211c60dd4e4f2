"""Routes that are not here."""

import pytest


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/api/pull"),
        ("DELETE", "/api/delete"),
        ("POST", "/api/generate"),
        ("POST", "/api/chat"),
        ("HEAD", "/api/blobs/sha256:00"),
        ("POST", "/api/create"),
    ],
)
def test_what_only_ollama_does(http, method, path):
    answer = http.request(method, path, json={"model": "all-minilm"})
    assert answer.status_code == 404
    assert method == "HEAD" or answer.json()["error"].startswith(f"bankml only embeds: ask Ollama itself for {path};")


def test_an_unknown_path_is_as_in_ollama(http):
    answer = http.get("/api/nonesuch")
    assert (answer.status_code, answer.text) == (404, "404 page not found")
