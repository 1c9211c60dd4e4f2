"""Which embedder it is, and that the reason why there is none says what to do."""

from pathlib import Path

import numpy as np
import pytest

from bankml import Encoder
from bankml.embedders import NativeEmbedder, choose
from bankml.embedders.licences import check_licence
from bankml.embedders.ollama import OllamaEmbedder
from bankml.errors import LicenceError, UnavailableError
from bankml.models.prefixes import Override
from bankml.settings import Settings
from oracle import seeded
from tests.embedders.conftest import foreign
from tests.ollama_store import Store

TEXT = "how fast is it"


def test_nothing_is_pulled(tmp_path: Path, hub) -> None:
    for name in (None, "all-minilm", "e5-small", "bge-m3", "hf:owner/repo/file.gguf"):
        with pytest.raises(UnavailableError, match="bankml pull"):
            choose(name=name)
    assert not list(tmp_path.rglob("*.gguf"))


@pytest.mark.usefixtures("stocked_home")
def test_the_prefixes_of_e5_are_really_embedded(e5: Path) -> None:
    ours = choose(name="e5-small")
    with Encoder(e5) as encoder:
        document, query = encoder.encode([f"passage: {TEXT}", f"query: {TEXT}"])
    assert np.abs(ours.embed([TEXT])[0] - document).max() < 1e-6
    assert np.abs(ours.embed([TEXT], query=True)[0] - query).max() < 1e-6
    assert (ours.document_prefix, ours.query_prefix) == ("passage: ", "query: ")
    ours.close()


@pytest.mark.usefixtures("stocked_home")
def test_minilm_gets_none(encoder: Encoder) -> None:
    ours = choose()
    assert isinstance(ours, NativeEmbedder)
    assert (ours.model, ours.document_prefix, ours.query_prefix) == ("all-minilm-l6-v2", "", "")
    plain = encoder.encode([TEXT])
    for query in (False, True):
        assert np.abs(ours.embed([TEXT], query=query) - plain).max() < 1e-6
    ours.close()


def test_ollamas_bge_m3_is_run_by_the_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its own name, its manifest's digest and licence, with no prefix, 1,024 wide."""
    store = Store(tmp_path / "store")
    file = seeded.tiny(tmp_path / "bge.gguf", hidden=1024, heads=16, layers=1, ffn=64)
    store.add("registry.ollama.ai/library/bge-m3/latest", file, ("MIT",))
    monkeypatch.setenv("OLLAMA_MODELS", str(store.root))
    ours = choose()
    assert isinstance(ours, NativeEmbedder)
    assert (ours.model, ours.dims, ours.licence.id) == ("bge-m3", 1024, "MIT")
    assert (ours.document_prefix, ours.query_prefix) == ("", "")
    with Encoder(file) as encoder:
        assert ours.digest == encoder.digest
        assert np.abs(ours.embed([TEXT], query=True) - encoder.encode([TEXT])).max() < 1e-6
    ours.close()


def test_a_bge_m3_of_another_width_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path / "store")
    store.add("registry.ollama.ai/library/bge-m3/latest", seeded.tiny(tmp_path / "bge.gguf"))
    monkeypatch.setenv("OLLAMA_MODELS", str(store.root))
    with pytest.raises(UnavailableError, match="bge-m3 has 1024"):
        choose()


def test_weights_that_rotted_in_the_store_are_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path / "store")
    blob = store.add("registry.ollama.ai/library/sky/latest", seeded.tiny(tmp_path / "sky.gguf"))
    content = bytearray(blob.read_bytes())
    content[-1] ^= 1
    blob.write_bytes(content)
    monkeypatch.setenv("OLLAMA_MODELS", str(store.root))
    ours = choose(name="sky")
    with pytest.raises(UnavailableError, match="it changed or rotted"):
        ours.embed([TEXT])


@pytest.mark.usefixtures("ollama")
def test_ollama_runs_what_the_engine_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(choose(name="cloud"), OllamaEmbedder)
    assert isinstance(choose(name="sky"), NativeEmbedder)
    assert isinstance(choose(name="sky", provider="ollama"), OllamaEmbedder)
    with pytest.raises(UnavailableError, match="architecture nomic, which bankml does not run"):
        choose(name="cloud", provider="native")
    monkeypatch.setenv("BANKML_EMBED_PROVIDER", "ollama")
    assert isinstance(choose(name="sky"), OllamaEmbedder)


def test_what_nobody_runs(tmp_path: Path) -> None:
    file = foreign(tmp_path / "cloud.gguf", 64)
    with pytest.raises(UnavailableError, match="architecture nomic, which bankml does not run"):
        choose(name=file)
    with pytest.raises(UnavailableError, match="a vector per token"):
        choose(name=seeded.tiny(tmp_path / "tokens.gguf", pooling="none"))
    (tmp_path / "broken.gguf").write_bytes(b"GGUF" + bytes(100))
    with pytest.raises(UnavailableError, match=r"broken\.gguf"):
        choose(name=tmp_path / "broken.gguf")


@pytest.mark.parametrize("name", ["", "no such model", "/nowhere/model.gguf", "a/b/c/d", "\0"])
def test_names_that_mean_nothing(name: str) -> None:
    with pytest.raises(UnavailableError):
        choose(name=name)


@pytest.mark.usefixtures("stocked_home")
def test_a_licence_that_is_not_open_must_be_allowed_by_name(tmp_path: Path) -> None:
    check_licence(choose())
    ours = choose(name=seeded.tiny(tmp_path / "tiny.gguf"))
    with pytest.raises(LicenceError, match=r"tiny has no licence that is known .*--allow-licence 'unknown'"):
        check_licence(ours)
    with pytest.raises(LicenceError):
        check_licence(ours, ["MIT", "tiny", ""])
    check_licence(ours, ["MIT", "Unknown"])
    check_licence(ours, "unknown")


@pytest.mark.usefixtures("stocked_home")
def test_prefixes_in_place_of_the_familys(e5: Path) -> None:
    """Each on its own side alone, and "" is none at all."""
    query, document = f"find: {TEXT}", f"passage: {TEXT}"
    with Encoder(e5) as encoder:
        found, passage, plain = encoder.encode([query, document, TEXT])
    ours = choose(name="e5-small", prefixes=Override(query="find: "))
    assert (ours.document_prefix, ours.query_prefix) == ("passage: ", "find: ")
    assert np.abs(ours.embed([TEXT])[0] - passage).max() < 1e-6
    assert np.abs(ours.embed([TEXT], query=True)[0] - found).max() < 1e-6
    ours.close()
    bare = choose(name="e5-small", prefixes=Override("", ""))
    for side in (False, True):
        assert np.abs(bare.embed([TEXT], query=side)[0] - plain).max() < 1e-6
    bare.close()


@pytest.mark.usefixtures("ollama")
@pytest.mark.parametrize("name", ["sky", "cloud"])
def test_prefixes_of_a_model_that_ollama_runs(name: str) -> None:
    ours = choose(name=name, provider="ollama", prefixes=Override("a ", "b "))
    assert (ours.document_prefix, ours.query_prefix) == ("a ", "b ")
    assert (ours.dtype, ours.pooling) == ("", "")  # whether or not its file can be read here


@pytest.mark.usefixtures("stocked_home")
def test_the_name_that_finds_a_model_again(tmp_path: Path) -> None:
    tiny = seeded.tiny(tmp_path / "tiny.gguf")
    assert choose(name="minilm").reference == "all-MiniLM-L6-v2"
    assert choose(name=tiny).reference == str(tiny)
    own = Settings.read().models / "own.gguf"
    own.write_bytes(tiny.read_bytes())
    assert choose(name="own").reference == "own"
