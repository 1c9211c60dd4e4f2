"""Which model a client means."""

import asyncio
import hashlib
from dataclasses import replace
from urllib.parse import quote

import pytest

from bankml.models import choose, pinned, pull
from bankml.serve.errors import RefusedError
from bankml.serve.names import Names
from oracle import seeded


def find(names: Names, name: str):
    return asyncio.run(names.find(name))


@pytest.fixture(scope="module")
def tiny_gguf(tmp_path_factory) -> bytes:
    return seeded.tiny(tmp_path_factory.mktemp("tiny") / "tiny.gguf").read_bytes()


@pytest.fixture
def names(stocked_home):
    return Names(choose("all-minilm"))


@pytest.mark.parametrize(
    "name",
    ["all-minilm", "all-minilm:latest", "ALL-MiniLM", "all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2"],
)
def test_the_served_model_by_all_its_names(names, name):
    assert find(names, name) is names.served


def test_an_added_name(names):
    names.add("My Own Name")
    names.add("org/model")
    for name in ("my own name:latest", "org/model", "org/model:latest"):
        assert find(names, name) is names.served


def test_an_added_name_takes_nothing_from_another_model(names, stocked_home, minilm):
    (stocked_home / "models" / "mine.gguf").symlink_to(minilm)
    for name in ("multilingual-e5-small", "E5-small", "mine"):
        names.add(name)  # as an untrusted file may call itself
        assert find(names, name) is not names.served
        assert find(names, name).path.stem in ("multilingual-e5-small-q4_0", "mine")


def test_another_built_in_that_is_here(names):
    assert find(names, "e5-small").name == "multilingual-e5-small"


def test_a_built_in_that_is_not_here_is_not_pulled(names, stocked_home):
    for file in (stocked_home / "models").glob("*e5*"):
        file.unlink()
    with pytest.raises(RefusedError, match="model 'e5-small' not found"):
        find(names, "e5-small")


def test_a_file_of_bankmls_folder_by_its_stem(names, stocked_home, minilm):
    (stocked_home / "models" / "mine.gguf").symlink_to(minilm)
    assert find(names, "mine:latest").name == "mine"


@pytest.mark.parametrize(
    "name",
    [
        "/etc/passwd", "../x", "./model.gguf", "a b", "a\0b", "é", "x" * 400, "a/b/c/d", "a:b:c", "~/model.gguf",
        "hf:../../x.gguf", "hf:o/r/../../x.gguf", "hf:o/r/x.bin", "hf:",
    ],
)  # fmt: skip
def test_malformed_names(names, name):
    with pytest.raises(RefusedError, match="invalid model name"):
        find(names, name)


def test_a_path_below_the_working_directory_is_no_name(names, tmp_path, monkeypatch, minilm):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "model.gguf").symlink_to(minilm)
    monkeypatch.chdir(tmp_path)
    for name in ("folder/model.gguf", "model.gguf"):
        with pytest.raises(RefusedError, match="not found"):
            find(names, name)


def test_no_name(names):
    with pytest.raises(RefusedError, match="model is required"):
        find(names, "")


def test_a_hubs_model_that_is_here(names, hub, tiny_gguf):
    hub.add("o/r", {"tiny.gguf": tiny_gguf})
    path = pull("hf:o/r")
    hub.requests.clear()
    for name in ("hf:o/r/tiny.gguf", "hf:o/r", "hf:o/r/tiny.gguf:latest"):
        assert find(names, name).path == path
    assert hub.requests == []


def test_a_hubs_model_that_is_not_here_is_not_pulled(names, hub, tiny_gguf):
    hub.add("o/r", {"tiny.gguf": tiny_gguf})
    hub.add("gpustack/bge-m3-GGUF", {"bge-m3-FP16.gguf": tiny_gguf})
    for name in ("hf:o/r/tiny.gguf", "hf:o/r", "bge-m3", "BAAI/bge-m3", pinned.BGE_M3.source):
        with pytest.raises(RefusedError, match=f"model '{name}' not found"):
            find(names, name)
    assert hub.requests == []


def test_a_pulled_bge_m3_by_all_its_names(hub, tiny_gguf, monkeypatch):
    digest = hashlib.sha256(tiny_gguf).hexdigest()
    monkeypatch.setattr(pinned, "BGE_M3", replace(pinned.BGE_M3, gguf_sha256=digest))
    hub.add("gpustack/bge-m3-GGUF", {"bge-m3-FP16.gguf": tiny_gguf})
    pull("bge-m3")
    names = Names(choose("bge-m3"))
    for name in ("bge-m3", "bge-m3:latest", "bge-m3:567m", "BAAI/bge-m3", pinned.BGE_M3.source, "bge-m3-fp16"):
        assert find(names, name) is names.served


def test_a_hubs_name_that_is_too_long_for_a_disk_is_no_model(names):
    for name in ("hf:a/b/" + 30 * ("x" * 200 + "/") + "a.gguf", "hf:a/b@" + "v/" * 90 + "v"):
        with pytest.raises(RefusedError) as refused:
            find(names, name)
        assert refused.value.status in (400, 404)


LONG = [
    "a" * 300, "a" * 100_000, "n" * 250 + ":latest", "o/" + "r" * 300, "o" * 300 + "/r", "a:" + "t" * 300, "a/" * 300,
    "host/" * 3 + "r" * 300, "hf:" + "o" * 300 + "/r", "hf:o/" + "r" * 300, "hf:o/r/" + "f" * 300 + ".gguf",
    "hf:o/r/" + "d/" * 3000 + "f.gguf", "/" + "a" * 5000, "../" * 2000, "\u00e9" * 300, "\0" * 300, " " * 300,
    ":" * 300,
]  # fmt: skip


@pytest.mark.parametrize("name", LONG, ids=lambda name: f"{name[:12]!r} of {len(name)}")
def test_over_long_names_are_the_clients_fault(application, tmp_path, name):
    posts = ["/api/embed", "/api/embeddings", "/v1/embeddings", "/api/show", "/tokenize"]
    answers = [application("POST", path, json={"model": name, "input": "a", "prompt": "a"}) for path in posts]
    if len(name) < 1000:
        answers.append(application("GET", f"/v1/models/{quote(name)}"))
    for answer in answers:
        assert answer.status_code in (400, 404), answer.text
        assert str(tmp_path) not in answer.text
        assert "/bankml-home" not in answer.text
