"""What the environment says, read when it is asked for: nothing is kept, so it may change at any time."""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from bankml.durations import keep_alive
from bankml.errors import InputError

T = TypeVar("T")

TRUE = frozenset({"1", "true", "yes", "on"})
FALSE = frozenset({"0", "false", "no", "off"})
MAX_THREADS = 1024
KEEP_ALIVE = 300 * 10**9  # Ollama's
EMBED_KEEP_ALIVE = 60 * 10**9  # a history is searched now and then, and its machine is small
PROVIDERS = ("native", "ollama")
OLLAMA = "http://127.0.0.1:11434"  # where it listens by itself

PREFIX = "BANKML_"
# Every variable of bankml's own without the prefix, those included that only other programs or later versions read.
NAMES = (
    "ACCESS_LOG API_KEY BACKEND DISABLE_WRITE_EMBEDDING EMBED_KEEP_ALIVE EMBED_MODEL EMBED_NEED_GB EMBED_PROVIDER HOME "
    "KEEP_ALIVE OLLAMA PG_DSN REQUIRE_BACKENDS SKIP_MODEL_DOWNLOAD THREADS"
).split()


@dataclass(frozen=True)
class Settings:
    """Every setting of bankml with its default. Durations are nanoseconds; `durations.FOREVER` means never."""

    home: Path  # BANKML_HOME: all of bankml's own files
    embed_model: str | None  # BANKML_EMBED_MODEL, else MINDX_EMBED_MODEL
    embed_model_variable: str | None  # which of the two it came from
    ollama_models: Path | None  # OLLAMA_MODELS
    ollama: str  # BANKML_OLLAMA: the URL of the Ollama that `bankml serve` forwards to, and that may embed histories
    backend: str  # BANKML_BACKEND; "": the best one this machine has
    threads: int  # BANKML_THREADS; 0: one per usable physical core
    keep_alive: int  # BANKML_KEEP_ALIVE, the server's
    embed_need: int | None  # BANKML_EMBED_NEED_GB in bytes: what a model needs; 0: not checked; None: told by its file
    api_key: str | None = field(repr=False)  # BANKML_API_KEY: what clients of the server must send
    skip_model_download: bool  # BANKML_SKIP_MODEL_DOWNLOAD
    access_log: bool  # BANKML_ACCESS_LOG, the server's
    embed_keep_alive: int  # BANKML_EMBED_KEEP_ALIVE: how long a history's model stays in memory after its last use
    embed_provider: str | None  # BANKML_EMBED_PROVIDER: who embeds histories; None: the engine if it can, else Ollama
    rage_path: str | None  # RAGE_PATH: folders, joined as in PATH, whose rage.py ranks words
    pg_dsn: str | None = field(repr=False)  # BANKML_PG_DSN: where histories are published; it may hold a password
    disable_write_embedding: bool = False  # BANKML_DISABLE_WRITE_EMBEDDING: what is remembered has words alone at first

    @classmethod
    def read(cls, environ: Mapping[str, str] | None = None) -> "Settings":
        """The settings of `environ` (default: the process's). An empty variable counts as unset.

        Raises InputError naming the variable, its value and what would be accepted.
        """
        env = Environment(os.environ if environ is None else environ)
        model_variable = env.first("BANKML_EMBED_MODEL", "MINDX_EMBED_MODEL")
        keep = env.get("BANKML_KEEP_ALIVE", duration)
        embed_keep = env.get("BANKML_EMBED_KEEP_ALIVE", duration)
        return cls(
            home=env.get("BANKML_HOME", _folder) or _default_home(),
            embed_model=env.text(model_variable) if model_variable else None,
            embed_model_variable=model_variable,
            ollama_models=env.get("OLLAMA_MODELS", _folder),
            ollama=env.get("BANKML_OLLAMA", _ollama) or OLLAMA,
            backend=env.get("BANKML_BACKEND", _backend) or "",
            threads=env.get("BANKML_THREADS", _threads) or 0,
            keep_alive=KEEP_ALIVE if keep is None else keep,
            embed_need=env.get("BANKML_EMBED_NEED_GB", _gigabytes),
            api_key=env.text("BANKML_API_KEY"),
            skip_model_download=env.get("BANKML_SKIP_MODEL_DOWNLOAD", _flag) or False,
            access_log=env.get("BANKML_ACCESS_LOG", _flag) or False,
            embed_keep_alive=EMBED_KEEP_ALIVE if embed_keep is None else embed_keep,
            embed_provider=env.get("BANKML_EMBED_PROVIDER", _provider),
            rage_path=env.text("RAGE_PATH"),
            pg_dsn=env.text("BANKML_PG_DSN"),
            disable_write_embedding=env.get("BANKML_DISABLE_WRITE_EMBEDDING", _flag) or False,
        )

    @property
    def models(self) -> Path:
        """The folder of the models that bankml pulled or converted."""
        return self.home / "models"


def strangers(environ: Mapping[str, str]) -> list[str]:
    """A sentence for each variable that looks like bankml's and is none, with the nearest name that is one."""
    from difflib import get_close_matches

    found = sorted(name for name in environ if name.upper().startswith(PREFIX))
    return [
        f"{name} is no setting: {f'did you mean {PREFIX}{near[0]}?' if near else 'nothing reads it'}"
        for name in found
        if name.removeprefix(PREFIX) not in NAMES
        for near in [get_close_matches(name[len(PREFIX) :].upper(), NAMES, 1)]
    ]


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


def _default_home() -> Path:
    import platformdirs

    return Path(platformdirs.user_data_dir("bankml", appauthor=False))


def _folder(value: str) -> Path:
    try:
        return Path(value).expanduser()
    except RuntimeError:
        raise ValueError("a folder whose ~ is the home of a user of this machine") from None


def _threads(value: str) -> int:
    if not re.fullmatch(r"[0-9]{1,4}", value) or int(value) > MAX_THREADS:
        raise ValueError(f"a number from 0 (one per core) to {MAX_THREADS}")
    return int(value)


def duration(value: str) -> int | None:
    """Nanoseconds, as in OLLAMA_KEEP_ALIVE, where a bare number is seconds and a negative one means for ever.

    Raises ValueError with what would be accepted.
    """
    number = re.fullmatch(r"-?[0-9]{1,12}(\.[0-9]+)?", value)
    try:
        return keep_alive(float(value) if number else value)
    except ValueError:
        raise ValueError("a duration such as 60s, 5m or 1h30m") from None


def _ollama(value: str) -> str:
    from bankml.ollama_address import parse  # and urllib with it, which is a tenth of what importing bankml takes

    return parse(value)


def _backend(value: str) -> str:
    from bankml._engine import backends

    if value not in backends():
        raise ValueError(f"a backend of this machine (choose one of: {', '.join(backends())})")
    return value


def _provider(value: str) -> str:
    if value.lower() not in PROVIDERS:
        raise ValueError(" or ".join(PROVIDERS))
    return value.lower()


def _gigabytes(value: str) -> int:
    if not re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,9})?|\.[0-9]{1,9}", value):
        raise ValueError("a number of GB such as 1.3, or to 0 for no check")
    return round(float(value) * 1e9)


def _flag(value: str) -> bool:
    if value.lower() in TRUE | FALSE:
        return value.lower() in TRUE
    raise ValueError("1 or 0")
