"""One exchange of a .history file: what a person asked and what was answered."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from bankml.utf8 import whole

MAX_CHARS = 4000  # of an exchange's text that are embedded, as mindX cuts it


@dataclass(frozen=True, slots=True)
class Exchange:
    """`id`: the number of its line among those that are not empty, from 0, the `seq` that it is published with."""

    id: int
    user: str
    assistant: str

    @property
    def text(self) -> str:
        """What words are searched in."""
        return f"{self.user}\n{self.assistant}"

    def embedded(self, prefix: str = "") -> str:
        """What is embedded: the first 4,000 characters of the text, behind the model's prefix for documents."""
        return prefix + self.text[:MAX_CHARS]


def parse(line: bytes, id: int) -> Exchange | None:
    """The exchange in a line; None for a record of another kind, without `user` and `assistant`.

    Raises ValueError for a line that is no JSON object in UTF-8, or whose `user` or `assistant` is no text.
    """
    return of(load(line), id)


def of(record: Mapping[str, Any], id: int) -> Exchange | None:
    """The exchange in a record; None for one of another kind. Raises ValueError where what was said is no text."""
    user, assistant = (_said(record, name) for name in ("user", "assistant"))
    return Exchange(id, user, assistant) if user or assistant else None


def load(line: bytes) -> dict[str, Any]:
    """The JSON object in a line. Raises ValueError."""
    try:
        record = orjson.loads(line)
    except ValueError:  # of which some are what Python's json writes: NaN, escapes of lone surrogates
        record = _loose(line)
    if not isinstance(record, dict):
        raise ValueError("no JSON object")
    return record


def _loose(line: bytes) -> Any:
    try:
        return whole(json.loads(line.decode()))
    except RecursionError:
        raise ValueError("nested too deep") from None


def _said(record: Mapping[str, Any], name: str) -> str:
    value = record.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ValueError(f"{name} is no text")
    return value
