"""`bankml.history.search`, as programs call it."""

import importlib

import pytest

from bankml import history
from bankml.embedders import default


@pytest.fixture
def home(monkeypatch, models_home, tmp_path):
    monkeypatch.setenv("BANKML_HOME", str(models_home))
    monkeypatch.setenv("OLLAMA_MODELS", str(tmp_path / "none"))
    monkeypatch.delenv("BANKML_EMBED_MODEL", raising=False)
    yield
    for searcher in history._searchers.values():
        searcher.close()
    history._searchers.clear()


def test_it_is_called_again_and_again(sample, home, minilm):
    for _ in range(2):
        assert "24 exchanges" in history.search(sample, "backup").status
    importlib.import_module("bankml.history.searcher")
    assert "24 exchanges" in history.search(str(sample), "backup").status


def test_another_model_of_the_environment_ranks(sample, home, minilm, e5, monkeypatch):
    assert "all-minilm-l6-v2" in history.search(sample, "backup").status
    monkeypatch.setenv("BANKML_EMBED_MODEL", "e5-small")
    assert "multilingual-e5-small" in history.search(sample, "backup").status
    assert default.embedder().model == "multilingual-e5-small"
    assert len(history._searchers) == 1


def test_a_few_histories_are_held(tmp_path, home, sample, monkeypatch):
    monkeypatch.setattr(history, "MOST", 2)
    for number in range(4):
        path = tmp_path / f"{number}.history"
        path.write_bytes(sample.read_bytes())
        history.search(path, "backup", wait=0)
    assert [path.name for path in history._searchers] == ["2.history", "3.history"]


def test_the_default_path_lies_in_bankmls_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("BANKML_HOME", str(tmp_path))
    assert history.default_path() == tmp_path / "savante" / "savante.history"
