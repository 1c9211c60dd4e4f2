"""The shapes of what tools take and give, in JSON Schema."""

from collections.abc import Mapping, Sequence
from typing import Any

Schema = dict[str, Any]


def text(description: str, most: int, least: int = 1) -> Schema:
    """A string of so many characters."""
    return {"type": "string", "minLength": least, "maxLength": most, "description": description}


def whole(description: str, least: int, most: int, default: int | None = None) -> Schema:
    """A whole number."""
    return _defaulted({"type": "integer", "minimum": least, "maximum": most, "description": description}, default)


def share(description: str, default: float | None = None) -> Schema:
    """A number from 0 to 1."""
    return _defaulted({"type": "number", "minimum": 0, "maximum": 1, "description": description}, default)


def choice(description: str, names: Sequence[str], default: str | None = None) -> Schema:
    """One of some names."""
    return _defaulted({"type": "string", "enum": list(names), "description": description}, default)


def flag(description: str) -> Schema:
    """true or false; false where it is not given."""
    return {"type": "boolean", "description": description, "default": False}


def several(description: str, one: Schema, most: int, default: Sequence[str] | None = None) -> Schema:
    """A list of at most so many."""
    found = {"type": "array", "items": one, "maxItems": most, "description": description}
    return _defaulted(found, None if default is None else list(default))


def arguments(required: Mapping[str, Schema], optional: Mapping[str, Schema] | None = None) -> Schema:
    """What a tool takes, and nothing else."""
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
    }


def answer(fields: Mapping[str, Schema], optional: Sequence[str] = ()) -> Schema:
    """An object with at least these fields, but for the `optional` ones."""
    return {
        "type": "object",
        "properties": dict(fields),
        "required": [name for name in fields if name not in optional],
    }


def given(kind: str | list[str], description: str = "", **more: Any) -> Schema:
    """A field of an answer: of a type, or of one of some, such as ["number", "null"]."""
    return {"type": kind} | ({"description": description} if description else {}) | more


def _defaulted(schema: Schema, default: Any) -> Schema:
    return schema if default is None else schema | {"default": default}
