"""What the environment says, read when it is asked for: nothing is kept, so it may change at any time."""

import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from bankml.errors import InputError

T = TypeVar("T")

TRUE = frozenset({"1", "true", "yes", "on"})
FALSE = frozenset({"0", "false", "no", "off"})
UNIT_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
DURATION = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|ms|s|m|h)")
MAX_THREADS = 1024


@dataclass(frozen=True)
class Settings:
    """Every setting of bankml with its default. Durations are seconds; `math.inf` means never."""

    home: Path  # BANKML_HOME: all of bankml's own files
    embed_model: str | None  # BANKML_EMBED_MODEL, else MINDX_EMBED_MODEL
    embed_model_variable: str | None  # which of the two it came from
    ollama: str  # BANKML_OLLAMA, without a slash at the end
    ollama_models: Path | None  # OLLAMA_MODELS
    backend: str  # BANKML_BACKEND; "": the best one this machine has
    threads: int  # BANKML_THREADS; 0: one per usable physical core
    keep_alive: float  # BANKML_KEEP_ALIVE, the server's
    embed_keep_alive: float  # BANKML_EMBED_KEEP_ALIVE, the history's
    embed_need_gb: float | None  # BANKML_EMBED_NEED_GB, decimal; None: computed from the file
    api_key: str | None  # BANKML_API_KEY
    skip_model_download: bool  # BANKML_SKIP_MODEL_DOWNLOAD
    disable_write_embedding: bool  # BANKML_DISABLE_WRITE_EMBEDDING
    rage_path: Path | None  # RAGE_PATH
    pg_dsn: str | None  # BANKML_PG_DSN

    @classmethod
    def read(cls, environ: Mapping[str, str] | None = None) -> "Settings":
        """The settings of `environ` (default: the process's). An empty variable counts as unset.

        Raises InputError naming the variable, its value and what would be accepted.
        """
        env = Environment(os.environ if environ is None else environ)
        model_variable = env.first("BANKML_EMBED_MODEL", "MINDX_EMBED_MODEL")
        return cls(
            home=env.get("BANKML_HOME", _folder) or _default_home(),
            embed_model=env.text(model_variable) if model_variable else None,
            embed_model_variable=model_variable,
            ollama=env.get("BANKML_OLLAMA", _url) or "http://127.0.0.1:11434",
            ollama_models=env.get("OLLAMA_MODELS", _folder),
            backend=env.text("BANKML_BACKEND") or "",
            threads=env.get("BANKML_THREADS", _threads) or 0,
            keep_alive=_or(env.get("BANKML_KEEP_ALIVE", _duration), 300.0),
            embed_keep_alive=_or(env.get("BANKML_EMBED_KEEP_ALIVE", _duration), 60.0),
            embed_need_gb=env.get("BANKML_EMBED_NEED_GB", _gigabytes),
            api_key=env.text("BANKML_API_KEY"),
            skip_model_download=env.get("BANKML_SKIP_MODEL_DOWNLOAD", _flag) or False,
            disable_write_embedding=env.get("BANKML_DISABLE_WRITE_EMBEDDING", _flag) or False,
            rage_path=env.get("RAGE_PATH", _folder),
            pg_dsn=env.text("BANKML_PG_DSN"),
        )

    @property
    def models(self) -> Path:
        """The folder of the models that bankml pulled or converted."""
        return self.home / "models"


class Environment:
    """Variables by name, with errors that say which one is wrong and what it should be."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ

    def text(self, name: str) -> str | None:
        """The variable without surrounding space; None when it is unset or empty."""
        return self._environ.get(name, "").strip() or None

    def first(self, *names: str) -> str | None:
        """The first of `names` that is set."""
        return next((name for name in names if self.text(name)), None)

    def get(self, name: str, parse: Callable[[str], T]) -> T | None:
        """The parsed variable, or None. `parse` raises ValueError with the words for what it accepts."""
        value = self.text(name)
        if value is None:
            return None
        try:
            return parse(value)
        except ValueError as error:
            raise InputError(f"{name} is {value!r}: set it to {error}, or unset it") from None


def seconds(duration: str) -> float:
    """Seconds of a Go duration such as "5m", "1h30m" or "-1m"; every negative one means for ever (`math.inf`).

    Raises ValueError for anything else, a bare number included: Ollama refuses it too.
    """
    unsigned = duration.removeprefix("-").removeprefix("+")
    if unsigned == "0":
        return 0.0
    parts = DURATION.findall(unsigned)
    if not parts or "".join(number + unit for number, unit in parts) != unsigned:
        raise ValueError("a duration such as 60s, 5m or 1h30m")
    if duration.startswith("-"):
        return math.inf
    return math.fsum(float(number) * UNIT_SECONDS[unit] for number, unit in parts)


def _default_home() -> Path:
    import platformdirs

    return Path(platformdirs.user_data_dir("bankml", appauthor=False))


def _or(value: float | None, default: float) -> float:
    return default if value is None else value


def _folder(value: str) -> Path:
    try:
        return Path(value).expanduser()
    except RuntimeError:
        raise ValueError("a folder whose ~ is the home of a user of this machine") from None


def _url(value: str) -> str:
    if not re.fullmatch(r"https?://[^/\s?#]+(/[^\s?#]*)?", value):
        raise ValueError("a URL such as http://127.0.0.1:11434")
    return value.rstrip("/")


def _threads(value: str) -> int:
    if not re.fullmatch(r"[0-9]{1,4}", value) or int(value) > MAX_THREADS:
        raise ValueError(f"a number from 0 (one per core) to {MAX_THREADS}")
    return int(value)


def _duration(value: str) -> float:
    """As in OLLAMA_KEEP_ALIVE, where a bare number is seconds and a negative one means for ever."""
    if re.fullmatch(r"-?[0-9]{1,12}(\.[0-9]+)?", value):
        return math.inf if value.startswith("-") else float(value)
    return seconds(value)


def _gigabytes(value: str) -> float:
    if not re.fullmatch(r"[0-9]{1,6}(\.[0-9]+)?", value):
        raise ValueError("a number of decimal gigabytes such as 1.3")
    return float(value)


def _flag(value: str) -> bool:
    if value.lower() in TRUE | FALSE:
        return value.lower() in TRUE
    raise ValueError("1 or 0")
