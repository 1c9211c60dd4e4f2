"""config.yaml beside a knowledge base: which model it wants, its prefixes, and how long chunks are."""

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from bankml.errors import StoreError
from bankml.library.model import yaml_mapping
from bankml.models.prefixes import Override
from bankml.store.place import real

FILE = "config.yaml"
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
    """

    path: Path
    model: str | None = None
    query_prefix: str | None = None
    document_prefix: str | None = None
    tokens: int | None = field(default=None, metadata={"key": "chunk_tokens"})
    overlap: int | None = field(default=None, metadata={"key": "chunk_overlap"})

    @classmethod
    def read(cls, store: Path) -> Self:
        """Of the database at `store`; a file that is not there says nothing. Raises StoreError in one sentence."""
        path = real(store).parent / FILE
        values = {key: CHECKS[key](path, key, value) for key, value in _known(path).items() if value is not None}
        found = cls(path, **{name: values.get(key) for name, key in _keys().items()})
        if found.chunk_overlap * 2 > found.chunk_tokens:
            raise StoreError(
                f"{path}: chunk_overlap is {found.chunk_overlap}, more than half of chunk_tokens, "
                f"{found.chunk_tokens}: make it {found.chunk_tokens // 2} or less"
            )
        return found

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


def _keys() -> dict[str, str]:
    """Of each field of Configuration but the path, the key in the file."""
    return {each.name: each.metadata.get("key", each.name) for each in fields(Configuration) if each.name != "path"}


def _known(path: Path) -> dict[str, Any]:
    found = yaml_mapping.read(path)
    for key in found:
        if key not in CHECKS:
            raise StoreError(
                f"{path}: {_shown(key)} is no setting of a knowledge base: take it out (there are "
                f"{', '.join(CHECKS)}), or keep the database in a folder of its own if another program's file this is"
            )
    return found


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


CHECKS: dict[str, Callable[[Path, str, Any], Any]] = {
    "model": _name,
    "query_prefix": _text,
    "document_prefix": _text,
    "chunk_tokens": _number(FEWEST_TOKENS, MOST_TOKENS),
    "chunk_overlap": _number(0, MOST_TOKENS // 2),
}


def _wrong(path: Path, key: str, value: Any, wanted: str) -> StoreError:
    return StoreError(f"{path}: {key} is {_shown(value)}: make it {wanted}")


def _shown(value: Any) -> str:
    """Of a number of 16,000 hex digits, too, which Python would refuse to spell in decimal ones."""
    shown = hex(value) if isinstance(value, int) and value.bit_length() > 1000 else repr(value)
    return shown if len(shown) <= SHOWN else shown[:SHOWN] + "…"
