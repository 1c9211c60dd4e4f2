"""A line per request: who asked what when, and what became of it. Never a text, a key or a query string."""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TextIO

import orjson

from bankml.serve.visit import Visit
from bankml.utf8 import printable, whole

PLAIN = re.compile(r"[\w.:/@+-]+")  # needs no quotes


def access_log(file: TextIO, form: str) -> Callable[[Visit], None]:
    """What writes a visit's line to `file`; `form` is plain or json."""
    line = {"plain": plain, "json": as_json}[form]

    def write(visit: Visit) -> None:
        file.write(line(visit) + "\n")

    return write


def plain(visit: Visit) -> str:
    """`time client method path status bytes ms` and, as name=value, what else there is; the id last."""
    facts = _facts(visit)
    first = [facts.pop(name) for name in ("time", "client", "method", "path", "status")]
    words = [*map(str, first), f"{facts.pop('bytes')}B", f"{facts.pop('ms')}ms"]
    return " ".join([*words, *(f"{name}={_word(str(value))}" for name, value in facts.items())])


def as_json(visit: Visit) -> str:
    """The same as one JSON object."""
    return orjson.dumps(whole(_facts(visit))).decode()


def _facts(visit: Visit) -> dict[str, Any]:
    facts = {
        "time": datetime.fromtimestamp(visit.began, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "client": visit.client,
        "method": visit.method,
        "path": visit.path,
        "status": visit.status,
        "bytes": visit.sent,
        "ms": round(visit.seconds * 1000, 1),
        "model": visit.model,
        "texts": visit.texts,
        "tokens": visit.tokens,
        "failure": visit.failure,
        "id": visit.id,
    }
    return {name: value for name, value in facts.items() if value is not None}


def _word(value: str) -> str:
    return value if PLAIN.fullmatch(value) else json.dumps(printable(value), ensure_ascii=False)
