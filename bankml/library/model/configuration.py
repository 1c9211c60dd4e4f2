"""config.yaml beside a knowledge base: which model it wants, its prefixes, and how long chunks are."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from bankml.errors import StoreError
from bankml.library.model import profiles, yaml_mapping
from bankml.library.model.profiles import CUSTOM, USABLE, Profile
from bankml.models import same
from bankml.models.prefixes import Override
from bankml.store.place import real

FILE = "config.yaml"
ENABLED, PRESET, MODEL, POOLING = (f"search.vector.{name}" for name in ("enabled", "preset", "model", "pooling"))
SECTIONS = ("search", "search.vector")  # a key may be written whole or as a mapping in a mapping
POOLINGS = ("mean", "cls", "last")
CHUNK_TOKENS = 256
CHUNK_OVERLAP = 32
FEWEST_TOKENS, MOST_TOKENS = 64, 8192  # bge-m3 reads 8,192, and no model that the engine runs reads more
MOST_CHARACTERS = 1000  # of a name or a prefix; the longest of a known family has 80
SHOWN = 80  # characters of a value in an error


@dataclass(frozen=True)
class Configuration:
    """What the file says; None where it says nothing. Environment and flags win over it.

    `model`: any name that `bankml.load` takes. `query_prefix`, `document_prefix`: put before each query and each
    document in place of what the model's family wants; "" is none at all. `tokens`, `overlap`: of a chunk.
    `enabled`: whether meaning is searched at all. `preset`: the name of a profile, or "custom"; `vector_model` counts
    where no profile is named, and before `model`, the older key. `pooling`: of a `vector_model` whose file says none.
    """

    path: Path
    model: str | None = None
    query_prefix: str | None = None
    document_prefix: str | None = None
    tokens: int | None = field(default=None, metadata={"key": "chunk_tokens"})
    overlap: int | None = field(default=None, metadata={"key": "chunk_overlap"})
    enabled: bool | None = field(default=None, metadata={"key": ENABLED})
    preset: str | None = field(default=None, metadata={"key": PRESET})
    vector_model: str | None = field(default=None, metadata={"key": MODEL})
    pooling: str | None = field(default=None, metadata={"key": POOLING})

    @classmethod
    def read(cls, store: Path) -> Self:
        """Of the database at `store`; a file that is not there says nothing. Raises StoreError in one sentence."""
        path = place(store)
        return cls.of(path, yaml_mapping.read(path))

    @classmethod
    def of(cls, path: Path, mapping: Mapping[Any, Any]) -> Self:
        """Of what the file at `path` says, or is to say. Raises StoreError as `read`."""
        said = flat(path, mapping)
        values = {key: CHECKS[key](path, key, value) for key, value in said.items() if value is not None}
        found = cls(path, **{name: values.get(key) for name, key in _keys().items()})
        if found.chunk_overlap * 2 > found.chunk_tokens:
            raise StoreError(
                f"{path}: chunk_overlap is {found.chunk_overlap}, more than half of chunk_tokens, "
                f"{found.chunk_tokens}: make it {found.chunk_tokens // 2} or less"
            )
        return found

    @property
    def said(self) -> dict[str, Any]:
        """What it says, by key; None where it says nothing."""
        return {key: getattr(self, name) for name, key in _keys().items()}

    @property
    def vector_enabled(self) -> bool:
        """Whether meaning is searched; else words alone, by intention."""
        return self.enabled is not False

    @property
    def profile(self) -> Profile | None:
        """The preset that is named; None where that is `custom` or none."""
        return profiles.find(self.preset) if self.preset else None

    @property
    def chunk_tokens(self) -> int:
        """Tokens of a chunk at most."""
        return CHUNK_TOKENS if self.tokens is None else self.tokens

    @property
    def chunk_overlap(self) -> int:
        """Tokens that a chunk has in common with the one before, at most."""
        return CHUNK_OVERLAP if self.overlap is None else self.overlap

    @cached_property
    def prefixes(self) -> Override | None:
        """What is wanted instead of the family's; None: nothing."""
        if self.document_prefix is None and self.query_prefix is None:
            return None
        return Override(self.document_prefix, self.query_prefix)

    def pooling_of(self, model: str) -> str | None:
        """How token vectors of this model become one, where its file does not say; None: nobody said."""
        return self.pooling if self.pooling and self.vector_model and same(self.vector_model, model) else None


def place(store: Path) -> Path:
    """Where the file of the database at `store` lies."""
    return real(store).parent / FILE


def stamp(path: Path) -> tuple[int, ...] | None:
    """Another one when the file at `path` was changed since; None where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def flat(path: Path, mapping: Mapping[Any, Any]) -> dict[str, Any]:
    """Its values by whole keys. Raises StoreError for a key that is none, or is said twice."""
    found: dict[str, Any] = {}
    for key, value in _pairs(mapping):
        if key not in CHECKS:
            raise StoreError(
                f"{path}: {_shown(key)} is no setting of a knowledge base: take it out (there are "
                f"{', '.join(CHECKS)}), or keep the database in a folder of its own if another program's file this is"
            )
        if key in found:
            raise StoreError(f"{path}: {key} is said twice: keep one of them")
        found[key] = value
    return found


def _pairs(mapping: Mapping[Any, Any], above: str = "") -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = []
    for name, value in mapping.items():
        key = f"{above}{name}" if above else name
        if key in SECTIONS and (value is None or isinstance(value, dict)):
            found += _pairs(value or {}, f"{key}.")
        else:
            found.append((key, value))
    return found


def _keys() -> dict[str, str]:
    """Of each field of Configuration but the path, the key in the file."""
    return {each.name: each.metadata.get("key", each.name) for each in fields(Configuration) if each.name != "path"}


def _text(path: Path, key: str, value: Any) -> str:
    if not isinstance(value, str):
        raise _wrong(path, key, value, 'a text, in quotes where YAML takes it for something else: "…"')
    if len(value) > MOST_CHARACTERS or "\0" in value:
        raise _wrong(path, key, value, f"a text of at most {MOST_CHARACTERS:,} characters, none of them NUL")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise _wrong(path, key, value, "a text without half of a surrogate pair") from None
    return value


def _name(path: Path, key: str, value: Any) -> str:
    if not (name := _text(path, key, value).strip()):
        raise _wrong(path, key, value, "a model's name such as all-MiniLM-L6-v2")
    return name


def _number(least: int, most: int) -> Callable[[Path, str, Any], int]:
    def check(path: Path, key: str, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise _wrong(path, key, value, f"a whole number from {least} to {most:,}")
        return value

    return check


def _flag(path: Path, key: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise _wrong(path, key, value, "true or false")
    return value


def _preset(path: Path, key: str, value: Any) -> str:
    name = value.strip().casefold() if isinstance(value, str) else ""
    if (found := profiles.find(name)) and found.refusal:
        raise StoreError(f"{path}: {key} is {_shown(value)}: {found.refusal}")
    if not found and name != CUSTOM:
        raise _wrong(path, key, value, f"{', '.join(USABLE)} or {CUSTOM} ({MODEL} decides)")
    return name


def _pooling(path: Path, key: str, value: Any) -> str:
    if value not in POOLINGS:
        raise _wrong(path, key, value, f"{', '.join(POOLINGS[:-1])} or {POOLINGS[-1]}, as the model's card says")
    return str(value)


CHECKS: dict[str, Callable[[Path, str, Any], Any]] = {
    "model": _name,
    "query_prefix": _text,
    "document_prefix": _text,
    "chunk_tokens": _number(FEWEST_TOKENS, MOST_TOKENS),
    "chunk_overlap": _number(0, MOST_TOKENS // 2),
    ENABLED: _flag,
    PRESET: _preset,
    MODEL: _name,
    POOLING: _pooling,
}


def _wrong(path: Path, key: str, value: Any, wanted: str) -> StoreError:
    return StoreError(f"{path}: {key} is {_shown(value)}: make it {wanted}")


def _shown(value: Any) -> str:
    """Of a number of 16,000 hex digits, too, which Python would refuse to spell in decimal ones."""
    shown = hex(value) if isinstance(value, int) and value.bit_length() > 1000 else repr(value)
    return shown if len(shown) <= SHOWN else shown[:SHOWN] + "…"
