"""Which model a command uses is told before it is pulled."""

import pytest

from bankml.cli.model import choose
from bankml.errors import ModelError


def test_the_choice_is_told_before_the_model_is_pulled(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("BANKML_HOME", str(tmp_path))
    monkeypatch.setenv("BANKML_SKIP_MODEL_DOWNLOAD", "1")
    with pytest.raises(ModelError, match="BANKML_SKIP_MODEL_DOWNLOAD"):
        choose("all-minilm")
    assert capsys.readouterr().err == "bankml: model all-minilm-l6-v2: a built-in, as asked (pulled once: 84 MB)\n"


def test_of_a_model_that_is_not_here_nothing_is_told_but_the_error(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("BANKML_HOME", str(tmp_path))
    monkeypatch.setenv("OLLAMA_MODELS", str(tmp_path / "nothing"))
    with pytest.raises(ModelError, match="bge-m3"):
        choose("bge-m3")
    assert capsys.readouterr().err == ""
