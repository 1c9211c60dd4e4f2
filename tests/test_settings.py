import re
from pathlib import Path

import platformdirs
import pytest

from bankml.durations import FOREVER
from bankml.errors import InputError
from bankml.settings import NAMES, PREFIX, Settings, strangers

SECOND = 10**9


def test_defaults() -> None:
    settings = Settings.read({})
    assert settings.home == Path(platformdirs.user_data_dir("bankml", appauthor=False))
    assert settings.models == settings.home / "models"
    assert (settings.embed_model, settings.embed_model_variable) == (None, None)
    assert (settings.backend, settings.threads) == ("", 0)
    assert settings.keep_alive == 300 * SECOND
    assert settings.embed_keep_alive == 60 * SECOND
    assert settings.embed_provider is None
    assert not settings.skip_model_download
    assert (settings.ollama_models, settings.api_key) == (None, None)


def test_what_nothing_reads_stops_nothing() -> None:
    assert Settings.read({"BANKML_REQUIRE_BACKENDS": "m"}) == Settings.read({})
    assert Settings.read({"RAGE_PATH": "~nobody-of-this-name/x"}).rage_path == "~nobody-of-this-name/x"


def test_every_name_is_known() -> None:
    sources = "".join(path.read_text() for path in (Path(__file__).parents[1] / "bankml").rglob("*.py"))
    assert set(re.findall(r"BANKML_[A-Z_]+\b", sources)) <= {PREFIX, *(PREFIX + name for name in NAMES)}


def test_a_name_that_is_none_is_told_with_the_nearest() -> None:
    environ = {"BANKML_THREAD": "2", "BANKML_KEEPALIVE": "5m", "bankml_home": "/x", "BANKML_XYZZY": "", "PATH": "/bin"}
    assert strangers(environ | {PREFIX + name: "1" for name in NAMES}) == [
        "BANKML_KEEPALIVE is no setting: did you mean BANKML_KEEP_ALIVE?",
        "BANKML_THREAD is no setting: did you mean BANKML_THREADS?",
        "BANKML_XYZZY is no setting: nothing reads it",
        "bankml_home is no setting: did you mean BANKML_HOME?",
    ]


def test_an_empty_variable_counts_as_unset() -> None:
    names = ("BANKML_HOME", "BANKML_EMBED_MODEL", "BANKML_THREADS", "BANKML_KEEP_ALIVE", "OLLAMA_MODELS")
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


def test_paths() -> None:
    settings = Settings.read({"BANKML_HOME": "~/x", "OLLAMA_MODELS": "/m"})
    assert settings.home == Path.home() / "x"
    assert settings.ollama_models == Path("/m")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("5m", 300 * SECOND),
        ("90", 90 * SECOND),
        ("0", 0),
        ("0s", 0),
        ("1.5", 3 * SECOND // 2),
        ("-1", FOREVER),
        ("-1m", FOREVER),
    ],
)
def test_keep_alive_of_the_environment(value: str, expected: int) -> None:
    assert Settings.read({"BANKML_KEEP_ALIVE": value}).keep_alive == expected
    assert Settings.read({"BANKML_EMBED_KEEP_ALIVE": value}).embed_keep_alive == expected


@pytest.mark.parametrize(
    ("value", "expected"), [("1", True), ("TRUE", True), ("on", True), ("0", False), ("no", False)]
)
def test_flags(value: str, expected: bool) -> None:
    assert Settings.read({"BANKML_SKIP_MODEL_DOWNLOAD": value}).skip_model_download is expected
    assert Settings.read({"BANKML_DISABLE_WRITE_EMBEDDING": value}).disable_write_embedding is expected


@pytest.mark.parametrize(
    ("variable", "value", "remedy"),
    [
        ("BANKML_THREADS", "-1", "a number from 0"),
        ("BANKML_THREADS", "two", "a number from 0"),
        ("BANKML_THREADS", "1025", "a number from 0"),
        ("BANKML_THREADS", "²", "a number from 0"),
        ("BANKML_KEEP_ALIVE", "5 minutes", "a duration such as"),
        ("BANKML_KEEP_ALIVE", "m", "a duration such as"),
        ("BANKML_KEEP_ALIVE", "inf", "a duration such as"),
        ("BANKML_EMBED_KEEP_ALIVE", "m", "a duration such as"),
        ("BANKML_EMBED_PROVIDER", "openai", "native or ollama"),
        ("BANKML_SKIP_MODEL_DOWNLOAD", "maybe", "1 or 0"),
        ("BANKML_DISABLE_WRITE_EMBEDDING", "maybe", "1 or 0"),
        ("BANKML_HOME", "~nobody-of-this-name/x", "whose ~"),
    ],
)
def test_a_bad_value_is_named_with_its_remedy(variable: str, value: str, remedy: str) -> None:
    with pytest.raises(InputError, match=f"{variable} is .*: set it to .*{remedy}.*, or unset it") as error:
        Settings.read({variable: value})
    assert repr(value) in str(error.value)


@pytest.mark.parametrize(("value", "expected"), [("1.3", 1_300_000_000), ("0", 0), (".5", 500_000_000), ("", None)])
def test_what_a_model_needs_is_in_decimal_gigabytes(value: str, expected: int | None) -> None:
    assert Settings.read({"BANKML_EMBED_NEED_GB": value}).embed_need == expected


@pytest.mark.parametrize("value", ["much", "-1", "1e3", "nan", "1,3", "1.3 GB"])
def test_no_gigabytes(value: str) -> None:
    with pytest.raises(InputError, match=r"BANKML_EMBED_NEED_GB is .*: set it to a number of GB such as 1\.3"):
        Settings.read({"BANKML_EMBED_NEED_GB": value})
