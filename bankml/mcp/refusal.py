"""Why a tool cannot take its arguments, in one sentence that names the value and what would do."""

import math
from collections.abc import Mapping
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from bankml.mcp.schemas import Schema
from bankml.utf8 import printable

SHOWN = 80  # characters of a value


def refusal(schema: Schema, given: Mapping[str, Any]) -> str:
    """ "" where they fit `schema`, which is one of `schemas.arguments`."""
    for name, value in given.items():
        if isinstance(value, float) and not math.isfinite(value):
            return f"{printable(name)} is {value}: give {wanted(schema['properties'].get(name, {}))}"
    error = next(iter(Draft202012Validator(schema).iter_errors(given)), None)
    return _sentence(error, schema) if error else ""


def wanted(schema: Schema) -> str:
    """What a schema takes, in words."""
    kind, least, most = schema.get("type"), schema.get("minimum"), schema.get("maximum")
    if "enum" in schema:
        return f"one of {', '.join(schema['enum'])}"
    if kind == "string":
        return f"a text of {schema['minLength']} to {schema['maxLength']:,} characters"
    if kind == "array":
        return f"a list of at most {schema['maxItems']}, each of them {wanted(schema['items'])}"
    if kind in ("integer", "number"):
        return f"a {'whole ' * (kind == 'integer')}number from {least} to {most:,}"
    return "true or false"


def _sentence(error: ValidationError, schema: Schema) -> str:
    if error.validator == "required":
        missing = next(name for name in schema["required"] if name not in error.instance)
        return f"{missing} is missing: give {wanted(schema['properties'][missing])}"
    if error.validator == "additionalProperties":
        strange = next(name for name in error.instance if name not in schema["properties"])
        return f"there is no argument {_shown(strange)}: there are {', '.join(schema['properties'])}"
    name, *within = error.absolute_path
    place = "".join(f"[{index}]" for index in within)
    long = error.validator == "maxLength" and f"has {len(error.instance):,} characters"
    many = error.validator == "maxItems" and f"has {len(error.instance):,} entries"
    is_what = long or many or f"is {_shown(error.instance)}"
    return f"{name}{place} {is_what}: give {wanted(error.schema)}"


def _shown(value: Any) -> str:
    found = printable(repr(value))
    return found if len(found) <= SHOWN else f"{found[:SHOWN]}…"
