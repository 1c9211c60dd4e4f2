"""The calls of Savante: the manifest on the disk, what is in memory, and only then vectors of exactly 1,024."""

import json

import httpx

from tests.clients.bits import bits

EXCHANGES = ["why is the sky blue?\nIt scatters short waves most.", "和我说说天空\n好的。", "x\n" + "y " * 1999]


def test_from_the_manifest_to_vectors(bge_m3):
    manifest = json.loads((bge_m3.store / "manifests/registry.ollama.ai/library/bge-m3/latest").read_text())
    weights = next(layer for layer in manifest["layers"] if layer["mediaType"].endswith(".image.model"))
    with httpx.Client(base_url=bge_m3.url, timeout=60) as client:
        body = {"model": "bge-m3", "input": EXCHANGES, "keep_alive": "60s", "truncate": True}
        rows = client.post("/api/embed", json=body).raise_for_status().json()["embeddings"]
        loaded = client.get("/api/ps").raise_for_status().json()["models"]
        listed = client.get("/api/tags").raise_for_status().json()["models"]
    assert [len(row) for row in rows] == [1024] * len(EXCHANGES)
    assert bits(rows) == bits(bge_m3.encoder.encode(EXCHANGES))
    assert [model["name"] for model in loaded] == ["bge-m3:latest"]
    assert loaded[0]["digest"] == listed[0]["digest"]
    assert bge_m3.encoder.digest == weights["digest"].removeprefix("sha256:")
