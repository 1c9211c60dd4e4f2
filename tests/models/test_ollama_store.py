import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from bankml.errors import ModelError
from bankml.models import ollama_store
from bankml.models.ollama_store import OllamaModel
from bankml.settings import Settings

LIBRARY = "registry.ollama.ai/library"


def find(name: str) -> OllamaModel:
    model = ollama_store.find(name, Settings.read())
    assert model is not None
    return model


def test_a_model_is_found_and_described(store, tiny_gguf: Path) -> None:
    blob = store.add(f"{LIBRARY}/bge-m3/latest", tiny_gguf, licences=("mit",), params={"num_ctx": 4096, "stop": ["a"]})
    for name in ("bge-m3", "BGE-M3:Latest", "library/bge-m3", "registry.ollama.ai/library/bge-m3:latest"):
        model = find(name)
        assert str(model.name) == "bge-m3:latest"
        assert model.gguf == blob
        assert model.weights_digest == blob.name.removeprefix("sha256-")
    assert model.licence.id == "MIT"
    assert model.licence_texts == ["mit"]
    assert model.parameters == {"num_ctx": 4096, "stop": ["a"]}
    assert (model.family, model.is_encoder) == ("bert", True)
    assert model.size > tiny_gguf.stat().st_size
    assert model.modified == model.manifest_path.stat().st_mtime


def test_the_digest_is_that_of_the_manifest_bytes(store, tiny_gguf: Path) -> None:
    import hashlib

    store.add(f"{LIBRARY}/a/latest", tiny_gguf)
    manifest = store.root / "manifests" / LIBRARY / "a" / "latest"
    assert find("a").digest == hashlib.sha256(manifest.read_bytes()).hexdigest()


def test_hosts_namespaces_and_tags(store, tiny_gguf: Path) -> None:
    names = ("hf.co/gpustack/bge-m3-GGUF/Q8_0", "registry.ollama.ai/me/model/latest", f"{LIBRARY}/bge-m3/567m")
    for name in names:
        store.add(name, tiny_gguf)
    assert str(find("hf.co/gpustack/bge-m3-gguf:q8_0").name) == "hf.co/gpustack/bge-m3-GGUF:Q8_0"
    assert str(find("me/model").name) == "me/model:latest"
    assert ollama_store.find("bge-m3", Settings.read()) is None
    listed = {str(model.name) for model in ollama_store.models(Settings.read())}
    assert listed == {"hf.co/gpustack/bge-m3-GGUF:Q8_0", "me/model:latest", "bge-m3:567m"}


def test_what_is_unsaid_is_empty(store, tiny_gguf: Path) -> None:
    store.manifest(f"{LIBRARY}/a/latest", {"layers": [store.layer("model", tiny_gguf.read_bytes())]})
    model = find("a")
    assert (model.config, model.parameters, model.licence_texts) == ({}, {}, [])
    assert (model.licence.id, model.licence.open) == ("unknown", False)


def test_an_encoder_is_known_by_its_file_when_the_config_is_silent(store, tiny_gguf: Path) -> None:
    store.add(f"{LIBRARY}/a/latest", tiny_gguf, family=None)
    store.add(f"{LIBRARY}/llama3/latest", tiny_gguf, family="llama")
    assert find("a").is_encoder
    assert (find("llama3").family, find("llama3").is_encoder) == ("llama", False)


def test_two_licences_are_both_read(store, tiny_gguf: Path) -> None:
    store.add(f"{LIBRARY}/a/latest", tiny_gguf, licences=("mit", "cc-by-nc-4.0"))
    assert (find("a").licence.id, find("a").licence.open) == ("MIT AND CC-BY-NC-4.0", False)


def test_a_blob_being_pulled_is_said(store, tiny_gguf: Path) -> None:
    blob = store.add(f"{LIBRARY}/a/latest", tiny_gguf)
    blob.rename(f"{blob}-partial")
    (store.root / "blobs" / f"{blob.name}-partial-0").write_text("{}")
    with pytest.raises(ModelError, match="a:latest is not wholly pulled yet: wait for `ollama pull a:latest`"):
        _ = find("a").gguf


def test_a_blob_that_is_gone_or_cut_is_said(store, tiny_gguf: Path) -> None:
    blob = store.add(f"{LIBRARY}/a/latest", tiny_gguf)
    size = blob.stat().st_size
    os.truncate(blob, size - 1)
    with pytest.raises(
        ModelError, match=f"is {size - 1} bytes of {size}: its download was cut short; run `ollama pull a"
    ):
        _ = find("a").gguf
    os.truncate(blob, 0)
    with pytest.raises(ModelError, match=f"is 0 bytes of {size}"):
        _ = find("a").gguf
    blob.unlink()
    with pytest.raises(ModelError, match=f"{blob.name} is missing; run `ollama pull a:latest`"):
        _ = find("a").gguf
    blob.mkdir()
    with pytest.raises(ModelError, match="was cut short"):
        _ = find("a").gguf


def test_a_blob_of_no_bytes_is_no_model(store) -> None:
    store.manifest(f"{LIBRARY}/a/latest", {"layers": [store.layer("model", b"")]})
    with pytest.raises(ModelError, match="is 0 bytes of 0"):
        _ = find("a").gguf


def test_a_safetensors_model_is_refused(store) -> None:
    store.manifest(f"{LIBRARY}/a/latest", {"layers": [store.layer("tensor", b"x"), store.layer("json", b"{}")]})
    with pytest.raises(ModelError, match="a:latest is stored as safetensors, not as GGUF"):
        _ = find("a").gguf


def test_a_digest_cannot_leave_the_store(store, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    layer = {"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:../../../secret", "size": 6}
    store.manifest(f"{LIBRARY}/a/latest", {"layers": [layer]})
    with pytest.raises(ModelError, match="which is no sha256 digest"):
        find("a")
    assert ollama_store.models(Settings.read()) == []


def test_damaged_side_blobs_are_said_and_do_not_hide_the_model(store, tiny_gguf: Path) -> None:
    layers = [
        store.layer("model", tiny_gguf.read_bytes()),
        store.layer("params", b"[]"),
        store.layer("license", b"mit"),
    ]
    store.manifest(f"{LIBRARY}/a/latest", {"layers": layers, "config": store.layer("x", b"not json")})
    (store.root / "blobs" / layers[2]["digest"].replace(":", "-")).unlink()
    model = find("a")
    for attribute in ("parameters", "config", "licence_texts"):
        with pytest.raises(ModelError, match="run `ollama pull a:latest` to repair it"):
            getattr(model, attribute)
    assert model.licence.id == "unknown"
    assert model.family == ""
    assert model.gguf.is_file()


def test_a_licence_of_absurd_size_is_not_read(store, tiny_gguf: Path) -> None:
    store.add(f"{LIBRARY}/a/latest", tiny_gguf, licences=("x" * (ollama_store.MAX_TEXT + 1),))
    with pytest.raises(ModelError, match="where at most 1048576 make sense"):
        _ = find("a").licence_texts


def test_foreign_files_among_the_manifests_are_left_out(store, tiny_gguf: Path) -> None:
    store.add(f"{LIBRARY}/good/latest", tiny_gguf)
    for name in (
        f"{LIBRARY}/good/.DS_Store",
        f"{LIBRARY}/bad name/latest",
        "registry.ollama.ai/a/b/c/d",
        "stray",
        "h/n/m/-t",
    ):
        store.manifest(name, b"{}")
    store.manifest(f"{LIBRARY}/broken/latest", b"{")
    assert [str(model.name) for model in ollama_store.models(Settings.read())] == ["good:latest"]


def test_no_store_is_no_error() -> None:
    assert ollama_store.models(Settings.read()) == []
    assert ollama_store.find("a", Settings.read()) is None
    assert ollama_store.unreadable(Settings.read()) == []


def test_where_a_store_is_looked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert ollama_store.roots(Settings.read()) == [tmp_path / "ollama-models"]
    monkeypatch.delenv("OLLAMA_MODELS")
    monkeypatch.setenv("HOME", "/home/me")
    assert [str(root) for root in ollama_store.roots(Settings.read())] == [
        "/home/me/.ollama/models",
        "/usr/share/ollama/.ollama/models",
        "/var/lib/ollama/models",
        "/var/lib/ollama",
    ]


def test_a_store_of_another_user_is_said(store, tiny_gguf: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    blob = store.add(f"{LIBRARY}/a/latest", tiny_gguf)
    _open_to_all(store.root, tmp_path_factory.getbasetemp())
    blob.chmod(0)
    assert "may not be read by this user: join Ollama's group" in _found_by_nobody(store.root)
    blob.chmod(0o644)
    (store.root / "blobs").chmod(0)
    assert f"{blob} may not be read by this user" in _found_by_nobody(store.root)
    manifests = store.root / "manifests"
    (manifests / LIBRARY / "a" / "latest").chmod(0)
    assert "a/latest may not be read by this user" in _found_by_nobody(store.root)
    (manifests / LIBRARY).chmod(0)
    assert "may not be read by this user" in _found_by_nobody(store.root)
    (manifests / LIBRARY).chmod(0o755)
    store.root.chmod(0)
    assert _found_by_nobody(store.root).splitlines() == [str([str(store.root)]), "None"]
    store.root.chmod(0o755)
    (store.root / "blobs").chmod(0o755)


def _open_to_all(path: Path, base: Path) -> None:
    """pytest keeps its folders to their owner: those below `base`, itself, and pytest-of-… around it."""
    for parent in path.parents:
        if base in (parent, *parent.parents) or parent.name.startswith("pytest-of-"):
            parent.chmod(0o755)


def _found_by_nobody(root: Path) -> str:
    """What another user learns of the model a; root drops its rights for it, after the imports."""
    script = """
        import os
        from bankml.errors import ModelError
        from bankml.models import ollama_store
        from bankml.settings import Settings

        settings = Settings.read()
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
        print([str(root) for root in ollama_store.unreadable(settings)])
        try:
            model = ollama_store.find("a", settings)
            print(model and model.gguf)
        except ModelError as error:
            print(error)
    """
    environment = {**os.environ, "OLLAMA_MODELS": str(root)}
    command = [sys.executable, "-c", textwrap.dedent(script)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=True).stdout
