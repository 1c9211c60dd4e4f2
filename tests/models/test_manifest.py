import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bankml.errors import ModelError
from bankml.models.manifest import Layer, Manifest

HEX = "0123456789abcdef" * 4


def layer(kind: str = "model", digest: Any = f"sha256:{HEX}", size: Any = 5) -> dict[str, Any]:
    return {"mediaType": f"application/vnd.ollama.image.{kind}", "digest": digest, "size": size}


def parse(value: Any) -> Manifest:
    return Manifest.parse(json.dumps(value).encode(), "a:latest")


def test_layers_are_read_by_kind() -> None:
    content = json.dumps(
        {"config": layer("x"), "layers": [layer(), layer("license"), layer("license", size=7)]}
    ).encode()
    manifest = Manifest.parse(content, "a:latest")
    assert manifest.digest == hashlib.sha256(content).hexdigest()
    assert manifest.weights("a") == Layer("model", HEX, 5)
    assert manifest.weights("a").blob_name == f"sha256-{HEX}"
    assert [found.size for found in manifest.of_kind("license")] == [5, 7]


@pytest.mark.parametrize("digest", [f"sha256:{HEX}", f"sha256-{HEX}", f"sha256:{HEX.upper()}"])
def test_spellings_of_a_digest(digest: str) -> None:
    assert parse({"layers": [layer(digest=digest)]}).layers[0].digest == HEX


@pytest.mark.parametrize(
    "digest",
    [
        "sha256:../../etc/passwd",
        f"sha256:{HEX}/../x",
        f"../sha256:{HEX}",
        f"sha256:{HEX}\n",
        f"sha512:{HEX}",
        f"sha256:{HEX[1:]}",
        f"sha256:{HEX}0",
        f"sha256:{'é' + HEX[1:]}",
        f"sha256:{'٣' + HEX[1:]}",
        "",
        HEX,
    ],
)
@pytest.mark.parametrize("place", ["layers", "config"])
def test_a_digest_that_is_none_never_becomes_a_path(digest: str, place: str) -> None:
    value = {"layers": [layer()]} | {place: [layer(digest=digest)] if place == "layers" else layer(digest=digest)}
    with pytest.raises(ModelError, match="which is no sha256 digest: run `ollama pull a:latest`"):
        parse(value)


@pytest.mark.parametrize(
    "value",
    [
        [],
        None,
        5,
        "x",
        {},
        {"layers": {}},
        {"layers": [5]},
        {"layers": [{}]},
        {"layers": [layer(size="5")]},
        {"layers": [layer(size=-1)]},
        {"layers": [layer(size=True)]},
        {"layers": [layer(size=1.5)]},
        {"layers": [layer(digest=5)]},
        {"layers": [], "config": 5},
    ],
)
def test_wrong_types_are_refused(value: Any) -> None:
    with pytest.raises(ModelError, match="manifest of a:latest"):
        parse(value)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[" * 100_000, b"\0" * 10])
def test_what_is_no_json_is_refused(content: bytes) -> None:
    with pytest.raises(ModelError, match="is not JSON: run `ollama pull a:latest`"):
        Manifest.parse(content, "a:latest")


def test_a_model_without_gguf_is_refused() -> None:
    with pytest.raises(ModelError, match="stored as safetensors"):
        parse({"layers": [layer("tensor"), layer("json")]}).weights("a")
    with pytest.raises(ModelError, match="has 0 model layers"):
        parse({"layers": []}).weights("a")
    with pytest.raises(ModelError, match="has 2 model layers"):
        parse({"layers": [layer(), layer()]}).weights("a")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)
layers = st.fixed_dictionaries(
    {},
    optional={
        "mediaType": st.text(max_size=5) | json_values,
        "digest": st.from_regex(r"sha(256|1)[:-]?[0-9a-f./]{60,66}") | json_values,
        "size": st.integers(-2, 5) | json_values,
    },
)
manifests = st.fixed_dictionaries(
    {}, optional={"config": layers | json_values, "layers": st.lists(layers | json_values)}
)


@given(
    manifests.map(lambda value: json.dumps(value).encode())
    | json_values.map(lambda v: json.dumps(v).encode())
    | st.binary()
)
def test_any_manifest_is_read_or_refused(content: bytes) -> None:
    try:
        manifest = Manifest.parse(content, "a:latest")
    except ModelError:
        return
    for found in (*manifest.layers, *filter(None, [manifest.config])):
        assert len(found.digest) == 64
        assert set(found.digest) <= set("0123456789abcdef")
        assert found.size >= 0
