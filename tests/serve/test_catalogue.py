"""/api/tags, /api/ps, /api/show and /api/version."""

import hashlib
import json
import os
import re
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import numpy as np
import pytest
from gguf import GGUFReader

import bankml


def test_digests_are_those_of_the_files(http, minilm):
    digests = {model["name"]: model["digest"] for model in http.get("/api/tags").json()["models"]}
    assert digests["all-minilm-l6-v2:latest"] == hashlib.sha256(minilm.read_bytes()).hexdigest()


def test_tags_on_the_wire(http):
    entry = http.get("/api/tags").json()["models"][0]
    assert entry["name"] == entry["model"]
    assert entry["capabilities"] == ["embedding"]
    assert entry["details"]["embedding_length"] == 384
    assert entry["details"]["context_length"] == 512


DETAILS = {"parent_model", "format", "family", "families", "parameter_size", "quantization_level"}


def test_every_field_of_ollamas_listings(http):
    http.post("/api/embed", json={"model": "all-minilm", "input": "a"})
    listed, loaded = (http.get(f"/api/{path}").json()["models"][0] for path in ("tags", "ps"))
    assert {"name", "model", "modified_at", "size", "digest", "details"} <= set(listed)
    assert {"name", "model", "size", "digest", "details", "expires_at", "size_vram", "context_length"} <= set(loaded)
    shown = http.post("/api/show", json={"model": "all-minilm"}).json()
    named = {"license", "modelfile", "parameters", "template", "details", "model_info", "capabilities", "modified_at"}
    assert named <= set(shown)
    for entry in (listed, loaded, shown):
        assert set(entry["details"]) >= DETAILS
    assert re.fullmatch(r"[0-9a-f]{64}", listed["digest"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", listed["modified_at"])


def test_show_verbose_and_by_the_older_field(http):
    shown = http.post("/api/show", json={"name": "all-minilm", "verbose": True}).json()
    assert {"name": "token_embd.weight", "type": "F16", "shape": [384, 30522]}.items() <= shown["tensors"][
        0
    ].items() or any(
        tensor["name"] == "token_embd.weight" and tensor["shape"] == [384, 30522] for tensor in shown["tensors"]
    )
    assert "tensors" not in http.post("/api/show", json={"name": "all-minilm"}).json()


def test_show_verbose_gives_whole_arrays(http, minilm):
    tokens = http.post("/api/show", json={"model": "all-minilm", "verbose": True}).json()["model_info"]
    expected = GGUFReader(minilm).fields["tokenizer.ggml.tokens"].contents()
    assert tokens["tokenizer.ggml.tokens"] == expected
    assert len(tokens["tokenizer.ggml.token_type"]) == len(expected)


def test_show_refusals(http):
    assert http.post("/api/show", json={}).json() == {"error": "model is required"}
    assert http.post("/api/show", json={}).status_code == 400
    answer = http.post("/api/show", json={"model": "nonesuch"})
    assert (answer.status_code, answer.json()) == (404, {"error": "model 'nonesuch' not found"})


def test_version(http):
    assert http.get("/api/version").json() == {"version": bankml.__version__}


def test_root_and_unknown_paths(http):
    assert http.get("/").text == "Ollama is running"
    assert http.head("/").status_code == 200
    assert (http.get("/api/nonesuch").status_code, http.get("/api/nonesuch").text) == (404, "404 page not found")
    assert http.get("/api/embed").status_code == 405


@contextmanager
def changing(path: Path) -> Iterator[None]:
    """Another process writes the file all the time: its time changes every millisecond."""
    ended = threading.Event()

    def touch() -> None:
        while not ended.wait(0.001):
            os.utime(path)

    thread = threading.Thread(target=touch)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def test_a_file_that_changes_while_it_is_read_is_left_out(http, home, minilm):
    busy = home / "models" / "busy.gguf"
    shutil.copy(minilm, busy)
    try:
        with changing(busy):
            answer = http.get("/api/tags")
    finally:
        busy.unlink()
    assert answer.status_code == 200, answer.text
    assert len(answer.json()["models"]) == 2


def test_a_file_that_is_gone_from_under_a_loaded_model_is_left_out_of_ps(http, home, minilm):
    gone = home / "models" / "gone.gguf"
    shutil.copy(minilm, gone)
    assert http.post("/api/embed", json={"model": "gone", "input": "a"}).status_code == 200
    gone.unlink()
    answer = http.get("/api/ps")
    assert answer.status_code == 200, answer.text
    assert "gone:latest" not in [model["name"] for model in answer.json()["models"]]


def test_others_are_served_while_a_listing_reads_a_large_file(server, http, home, minilm):
    large = home / "models" / "large.gguf"
    shutil.copy(minilm, large)
    os.truncate(large, 1 << 29)  # a hole: no disk is used, and there is as much to read
    ended = []

    def tags() -> None:
        httpx.get(f"{server.url}/api/tags", timeout=60).raise_for_status()
        ended.append(time.perf_counter())

    listing = threading.Thread(target=tags)
    try:
        started = time.perf_counter()
        listing.start()
        time.sleep(0.1)
        http.get("/health/live").raise_for_status()
        live = time.perf_counter()
        listing.join()
    finally:
        large.unlink()
    assert live - started < (ended[0] - started) / 2


@pytest.fixture(scope="module")
def store(tmp_path_factory, minilm):
    """An Ollama store with the real MiniLM under a name of its own, and a model whose blob is missing."""
    root = tmp_path_factory.mktemp("store")
    digest = hashlib.sha256(minilm.read_bytes()).hexdigest()
    (root / "blobs").mkdir()
    shutil.copy(minilm, root / "blobs" / f"sha256-{digest}")
    for name, weights in (("sky", digest), ("torn", "a" * 64)):
        folder = root / "manifests" / "registry.ollama.ai" / "someone" / name
        folder.mkdir(parents=True)
        (folder / "latest").write_text(json.dumps(manifest(weights, minilm.stat().st_size)))
    return root


def manifest(weights: str, size: int) -> dict:
    return {
        "schemaVersion": 2,
        "mediaType": "application/vnd.docker.distribution.manifest.v2+json",
        "layers": [{"mediaType": "application/vnd.ollama.image.model", "digest": f"sha256:{weights}", "size": size}],
    }


def test_a_file_is_served_by_its_names_and_ollamas_store_by_its_own(serving, tmp_path, minilm, store, encoder):
    model = tmp_path / "My Model.gguf"
    model.symlink_to(minilm)
    with serving(tmp_path / "home", "--model", str(model), OLLAMA_MODELS=str(store)) as server:

        def embed(name: str) -> httpx.Response:
            return httpx.post(f"{server.url}/api/embed", json={"model": name, "input": ["sky"]}, timeout=30)

        expected = encoder.encode(["sky"]).tobytes()
        for name in ("My Model", "my model:latest", "someone/sky", "someone/Sky:latest", "all-MiniLM-L6-v2"):
            assert embed(name).status_code == 200, (name, embed(name).text)
            assert np.array(embed(name).json()["embeddings"], np.float32).tobytes() == expected
        assert embed("someone/torn").status_code in (404, 500)
        assert embed("multilingual-e5-small").status_code == 404  # a built-in, but not on this machine
        assert embed(str(minilm)).status_code in (400, 404)  # a client's name is never a path
        names = {entry["name"] for entry in httpx.get(f"{server.url}/api/tags").json()["models"]}
        assert names == {"My Model:latest", "someone/sky:latest"}
