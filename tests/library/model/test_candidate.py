"""Another model is looked at before anything is switched to it, and its pooling is the one that the engine uses."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from gguf import GGUFReader

from bankml import Encoder
from bankml.embedders import NativeEmbedder, choose
from bankml.errors import Error, InputError, ModelError, NotFetchedError, PoolingError, UnavailableError
from bankml.library.model import binding
from bankml.library.model.candidate import candidate, switch
from bankml.library.model.configuration import Configuration
from bankml.library.model.configure import said
from bankml.library.model.fingerprint import fingerprint
from bankml.library.model.wanted import asked
from bankml.models import header
from bankml.settings import Settings
from bankml.store import Store
from oracle import seeded
from tests import hub as stub
from tests import ollama_store
from tests.embedders.conftest import MIT, foreign
from tests.embedders.scripted import scripted
from tests.models.conftest import write_bert

TEXTS = ["first some words", "and then a few others"]


@pytest.fixture
def nothing(path: Path) -> Configuration:
    return Configuration.read(path)


@pytest.fixture
def silent(tmp_path: Path) -> Path:
    """A model whose file says no pooling."""
    return without_pooling(seeded.tiny(tmp_path / "silent.gguf"))


def without_pooling(path: Path) -> Path:
    content = path.read_bytes()
    assert content.count(b"bert.pooling_type") == 1
    path.write_bytes(content.replace(b"bert.pooling_type", b"bert.pooling_typo"))
    return path


def repository(folder: Path, pooling: bool) -> dict[str, bytes]:
    """A BERT of two layers, as sentence-transformers keeps it, or as a plain transformer."""
    write_bert(folder)
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    plain = {name: content for name, content in files.items() if not name.startswith("1_Pooling")}
    kinds = [("", "Transformer"), ("1_Pooling", "Pooling")]
    modules = [{"path": path, "type": f"sentence_transformers.models.{kind}"} for path, kind in kinds]
    said = {"pooling_mode_cls_token": True}
    return (
        plain | {"modules.json": json.dumps(modules).encode(), "1_Pooling/config.json": json.dumps(said).encode()}
        if pooling
        else plain
    )


def test_a_file(small: Path, settings: Settings, nothing: Configuration) -> None:
    found = candidate(str(small), settings, nothing)
    assert (found.name, found.dims, found.dtype, found.pooled) == (str(small), 64, "F16", "mean")
    assert (found.pooling, found.provider) == (None, "native")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("pooling", ["cls", "mean", "last"])
def test_a_pooling_that_the_file_does_not_say_is_really_used(
    silent: Path, path: Path, settings: Settings, nothing: Configuration, pooling: str, tmp_path: Path
) -> None:
    """Bit for bit what the same weights give whose file says it; a wrong one would rank badly and say nothing."""
    found = candidate(str(silent), settings, nothing, pooling)
    assert (found.pooling, found.pooled) == (pooling, pooling)
    configuration = switch(path, found)
    embedder = binding.chosen(asked(path, settings).name, configuration, settings)
    with Encoder(seeded.tiny(tmp_path / "says.gguf", pooling=pooling)) as truth:
        assert (embedder.embed(TEXTS) == truth.encode(TEXTS)).all()
    assert len({fingerprint(choose(name=silent, pooling=each)) for each in ("cls", "mean", "last")}) == 3
    embedder.close()


def test_a_pooling_that_nobody_says_is_asked_for(silent: Path, settings: Settings, nothing: Configuration) -> None:
    with pytest.raises(PoolingError, match="see the model's card and give --pooling mean, cls or last"):
        candidate(str(silent), settings, nothing)


def test_a_pooling_that_is_said_counts(small: Path, settings: Settings, nothing: Configuration) -> None:
    assert candidate(str(small), settings, nothing, "mean").pooling is None
    with pytest.raises(InputError, match="says that its pooling is mean, and cls was asked for"):
        candidate(str(small), settings, nothing, "cls")
    with pytest.raises(InputError, match="the pooling is 'max': give mean, cls or last"):
        candidate(str(small), settings, nothing, "max")
    assert choose(name=small, pooling="cls").pooling == "mean"


def test_a_vector_a_token_is_pooled_as_it_is_said(tmp_path: Path, settings: Settings, nothing: Configuration) -> None:
    file = seeded.tiny(tmp_path / "tokens.gguf", pooling="none")
    with pytest.raises(PoolingError):
        candidate(str(file), settings, nothing)
    assert candidate(str(file), settings, nothing, "cls").pooled == "cls"
    with pytest.raises(UnavailableError, match="a vector per token"):
        choose(name=file)


def test_a_server_lends_no_encoder_for_such_a_pooling(silent: Path) -> None:
    """Its own are as the file says: none at all."""

    class Lender:
        def has(self, choice: object) -> bool:
            raise AssertionError("asked")

        lent = has

    embedder = choose(name=silent, pooling="cls")
    assert isinstance(embedder, NativeEmbedder)
    assert embedder.borrow(Lender()).embed(TEXTS).shape == (2, 64)
    embedder.close()


def test_a_weight_that_is_not_finite(tmp_path: Path, settings: Settings, nothing: Configuration) -> None:
    """In the last layer, where nothing but a pass through all of them sees it."""
    file = seeded.tiny(tmp_path / "broken.gguf", dtype="F32")
    tensor = next(each for each in GGUFReader(file).tensors if each.name == "blk.1.ffn_down.weight")
    with file.open("r+b") as opened:
        opened.seek(int(tensor.data_offset) + 400)
        opened.write(np.array([np.nan], np.float32).tobytes())
    with pytest.raises(Error, match="finite"):
        candidate(str(file), settings, nothing)


@pytest.mark.parametrize(
    ("content", "says"), [(b"GGUF", "GGUF|truncated|ends"), (b"", "GGUF|empty|ends"), (b"\0" * 4096, "GGUF")]
)
def test_a_file_that_is_no_model(
    tmp_path: Path, settings: Settings, nothing: Configuration, content: bytes, says: str
) -> None:
    (tmp_path / "m.gguf").write_bytes(content)
    with pytest.raises(Error, match=says):
        candidate(str(tmp_path / "m.gguf"), settings, nothing)


def test_a_file_of_another_graph(tmp_path: Path, settings: Settings, nothing: Configuration) -> None:
    file = seeded.tiny(tmp_path / "m.gguf")
    content = file.read_bytes()
    arch = b"general.architecture\x08\0\0\0\4\0\0\0\0\0\0\0bert"
    assert arch in content
    file.write_bytes(content.replace(arch, arch[:-4] + b"qert"))
    with pytest.raises(UnavailableError, match="of the architecture qert, which bankml does not run"):
        candidate(str(file), settings, nothing)


def test_names_that_are_none(settings: Settings, nothing: Configuration, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no model 'nothing-like-it' is on this machine"):
        candidate("nothing-like-it", settings, nothing)
    with pytest.raises(ModelError, match="there is no file"):
        candidate(str(tmp_path / "none.gguf"), settings, nothing)
    with pytest.raises(InputError, match=r"granite-small-r2 .* needs support of the engine"):
        candidate("granite-small-r2", settings, nothing)


def test_a_repository_by_owner_and_name(
    hub: stub.Hub, tmp_path: Path, path: Path, settings: Settings, nothing: Configuration
) -> None:
    hub.add("o/tiny", repository(tmp_path / "r", pooling=True))
    found = candidate("o/tiny", settings, nothing)
    assert (found.name, found.pooled, found.pooling) == ("hf:o/tiny", "cls", None)
    assert switch(path, found).vector_model == "hf:o/tiny"
    assert said(path) == {"search.vector.preset": "custom", "search.vector.model": "hf:o/tiny"}


def test_a_repository_that_does_not_say_its_pooling(
    hub: stub.Hub, tmp_path: Path, settings: Settings, nothing: Configuration
) -> None:
    """It is asked for before any weights are fetched, and then stands in the file that is made."""
    hub.add("o/tiny", repository(tmp_path / "r", pooling=False))
    with pytest.raises(PoolingError, match="hf:o/tiny does not say how token vectors become one"):
        candidate("o/tiny", settings, nothing)
    assert "model.safetensors" not in hub.fetched("o/tiny")
    found = candidate("hf:o/tiny", settings, nothing, "last")
    assert (found.pooled, found.pooling) == ("last", None)
    made = next(settings.models.rglob("*.gguf"))
    assert header.read(made).metadata["bert.pooling_type"] == 3
    assert candidate("o/tiny", settings, nothing).pooled == "last"
    with pytest.raises(InputError, match="its pooling is last"):
        candidate("o/tiny", settings, nothing, "cls")


def test_a_repository_that_says_another_is_refused_before_its_weights(
    hub: stub.Hub, tmp_path: Path, settings: Settings, nothing: Configuration
) -> None:
    hub.add("o/tiny", repository(tmp_path / "r", pooling=True))
    with pytest.raises(ModelError, match="hf:o/tiny records the pooling cls, and mean was asked for"):
        candidate("o/tiny", settings, nothing, "mean")
    assert "model.safetensors" not in hub.fetched("o/tiny")


def test_a_repository_of_another_graph_and_one_that_is_none(
    hub: stub.Hub, tmp_path: Path, settings: Settings, nothing: Configuration
) -> None:
    files = repository(tmp_path / "r", pooling=True)
    hub.add("o/modern", files | {"config.json": json.dumps({"model_type": "modernbert"}).encode()})
    with pytest.raises(ModelError, match="of the architecture modernbert, which bankml does not run"):
        candidate("o/modern", settings, nothing)
    assert "model.safetensors" not in hub.fetched("o/modern")
    with pytest.raises(ModelError, match="has no repository o/none"):
        candidate("o/none", settings, nothing)
    hub.add("o/onnx", {"config.json": b"{}", "onnx/model_quantized.onnx": b"x"})
    with pytest.raises(ModelError, match=r"hf:o/onnx has no GGUF file and no model\.safetensors"):
        candidate("o/onnx", settings, nothing)


def test_where_downloads_are_forbidden(hub: stub.Hub, settings: Settings, nothing: Configuration, monkeypatch) -> None:
    monkeypatch.setenv("BANKML_SKIP_MODEL_DOWNLOAD", "1")
    with pytest.raises(NotFetchedError, match="BANKML_SKIP_MODEL_DOWNLOAD forbids"):
        candidate("gte-small", Settings.read(), nothing)


def test_a_model_of_ollamas_store_and_one_that_only_ollama_runs(
    tmp_path: Path, nothing: Configuration, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine runs what it can; of the rest Ollama is asked for a vector, and pools as it does."""
    stored = ollama_store.Store(tmp_path / "store")
    stored.add("registry.ollama.ai/library/sky/latest", seeded.tiny(tmp_path / "sky.gguf", pooling="cls"), (MIT,))
    stored.add("registry.ollama.ai/library/cloud/latest", foreign(tmp_path / "cloud.gguf", 64), (MIT,), None, "nomic")
    monkeypatch.setenv("OLLAMA_MODELS", str(stored.root))
    monkeypatch.setenv("BANKML_EMBED_NEED_GB", "0")
    with scripted() as ollama:
        monkeypatch.setenv("BANKML_OLLAMA", ollama.url)
        native, asked_of_ollama = (candidate(name, Settings.read(), nothing) for name in ("sky", "cloud"))
        assert (native.provider, native.name, native.pooled) == ("native", "sky", "cls")
        assert (asked_of_ollama.provider, asked_of_ollama.name, asked_of_ollama.dims) == ("ollama", "cloud", 64)
        assert asked_of_ollama.pooling is None
        with pytest.raises(InputError, match="run by Ollama, which pools as its file says"):
            candidate("cloud", Settings.read(), nothing, "cls")


def test_an_ollama_that_does_not_answer(settings: Settings, nothing: Configuration) -> None:
    asked_of_ollama = replace(settings, embed_provider="ollama", ollama="http://127.0.0.1:1")
    with pytest.raises(UnavailableError):
        candidate("granite-embedding", asked_of_ollama, nothing)


def test_a_pooling_follows_its_model_alone(
    silent: Path, small: Path, store: Store, settings: Settings, nothing: Configuration, embedder: Callable
) -> None:
    """A flag, a variable or a preset that names another model does not get it."""
    switch(store.path, candidate(str(silent), settings, nothing, "cls"))
    assert binding.unchecked(store, settings).pooling == "cls"
    assert binding.unchecked(store, settings, str(silent)).pooling == "cls"
    assert binding.unchecked(store, settings, str(small)).pooling == "mean"
