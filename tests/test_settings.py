import math
from pathlib import Path

import platformdirs
import pytest

from bankml.errors import InputError
from bankml.settings import Settings, seconds


def test_defaults() -> None:
    settings = Settings.read({})
    assert settings.home == Path(platformdirs.user_data_dir("bankml", appauthor=False))
    assert settings.models == settings.home / "models"
    assert (settings.embed_model, settings.embed_model_variable) == (None, None)
    assert settings.ollama == "http://127.0.0.1:11434"
    assert (settings.backend, settings.threads) == ("", 0)
    assert (settings.keep_alive, settings.embed_keep_alive) == (300, 60)
    assert not settings.skip_model_download
    assert not settings.disable_write_embedding
    unset = (settings.ollama_models, settings.embed_need_gb, settings.api_key, settings.rage_path, settings.pg_dsn)
    assert set(unset) == {None}


def test_an_empty_variable_counts_as_unset() -> None:
    names = (
        "BANKML_HOME",
        "BANKML_EMBED_MODEL",
        "BANKML_THREADS",
        "BANKML_OLLAMA",
        "BANKML_KEEP_ALIVE",
        "OLLAMA_MODELS",
    )
    assert Settings.read(dict.fromkeys(names, " ")) == Settings.read({})


def test_the_environment_is_read_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BANKML_THREADS", "3")
    assert Settings.read().threads == 3
    monkeypatch.setenv("BANKML_THREADS", "4")
    assert Settings.read().threads == 4


def test_our_model_variable_goes_before_mindx() -> None:
    both = Settings.read({"BANKML_EMBED_MODEL": "a", "MINDX_EMBED_MODEL": "b"})
    assert (both.embed_model, both.embed_model_variable) == ("a", "BANKML_EMBED_MODEL")
    one = Settings.read({"MINDX_EMBED_MODEL": "b"})
    assert (one.embed_model, one.embed_model_variable) == ("b", "MINDX_EMBED_MODEL")


def test_paths_and_urls() -> None:
    settings = Settings.read({"BANKML_HOME": "~/x", "OLLAMA_MODELS": "/m", "BANKML_OLLAMA": "https://host:1/ollama/"})
    assert settings.home == Path.home() / "x"
    assert settings.ollama_models == Path("/m")
    assert settings.ollama == "https://host:1/ollama"


@pytest.mark.parametrize(
    ("value", "expected"),
    [("5m", 300), ("90", 90), ("0", 0), ("0s", 0), ("1.5", 1.5), ("-1", math.inf), ("-1m", math.inf)],
)
def test_keep_alive_of_the_environment(value: str, expected: float) -> None:
    settings = Settings.read({"BANKML_KEEP_ALIVE": value, "BANKML_EMBED_KEEP_ALIVE": value})
    assert (settings.keep_alive, settings.embed_keep_alive) == (expected, expected)


@pytest.mark.parametrize(
    ("value", "expected"), [("1", True), ("TRUE", True), ("on", True), ("0", False), ("no", False)]
)
def test_flags(value: str, expected: bool) -> None:
    settings = Settings.read({"BANKML_SKIP_MODEL_DOWNLOAD": value, "BANKML_DISABLE_WRITE_EMBEDDING": value})
    assert (settings.skip_model_download, settings.disable_write_embedding) == (expected, expected)


@pytest.mark.parametrize(
    ("variable", "value", "remedy"),
    [
        ("BANKML_THREADS", "-1", "a number from 0"),
        ("BANKML_THREADS", "two", "a number from 0"),
        ("BANKML_THREADS", "1025", "a number from 0"),
        ("BANKML_THREADS", "²", "a number from 0"),
        ("BANKML_OLLAMA", "localhost:11434", "a URL such as"),
        ("BANKML_OLLAMA", "ftp://x", "a URL such as"),
        ("BANKML_KEEP_ALIVE", "5 minutes", "a duration such as"),
        ("BANKML_EMBED_KEEP_ALIVE", "m", "a duration such as"),
        ("BANKML_EMBED_NEED_GB", "much", "decimal gigabytes"),
        ("BANKML_EMBED_NEED_GB", "nan", "decimal gigabytes"),
        ("BANKML_SKIP_MODEL_DOWNLOAD", "maybe", "1 or 0"),
        ("BANKML_HOME", "~nobody-of-this-name/x", "whose ~"),
    ],
)
def test_a_bad_value_is_named_with_its_remedy(variable: str, value: str, remedy: str) -> None:
    with pytest.raises(InputError, match=f"{variable} is .*: set it to .*{remedy}.*, or unset it") as error:
        Settings.read({variable: value})
    assert repr(value) in str(error.value)


@pytest.mark.parametrize(
    ("duration", "expected"),
    [
        ("60s", 60),
        ("1h30m", 5400),
        ("1.5h", 5400),
        (".5s", 0.5),
        ("100ms", 0.1),
        ("2us", 2e-6),
        ("+1m", 60),
        ("-5m", math.inf),
    ],
)
def test_go_durations(duration: str, expected: float) -> None:
    assert seconds(duration) == pytest.approx(expected)


@pytest.mark.parametrize("duration", ["", "5", "-1", "5m ", "m5", "1h-5m", "1d", "--1m", "1.2.3s"])
def test_what_is_no_go_duration(duration: str) -> None:
    with pytest.raises(ValueError, match="a duration such as"):
        seconds(duration)
