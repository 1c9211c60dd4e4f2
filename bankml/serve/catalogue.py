"""What is on this machine and in memory: /api/tags, /api/ps, /api/show, /api/version; also the list of /v1/models."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

import bankml
from bankml.durations import FOREVER
from bankml.errors import Error
from bankml.models import Choice, header
from bankml.models.catalogue import choices
from bankml.models.description import Description, describe
from bankml.serve import resident
from bankml.serve.answers import Answer
from bankml.serve.bodies import read
from bankml.serve.engines import Loaded
from bankml.serve.state import state
from bankml.serve.workers import while_wanted

Row = dict[str, Any]


class ShowRequest(msgspec.Struct):
    """The body of /api/show; `name` is the older field."""

    model: str | None = None
    name: str | None = None
    verbose: bool | None = None


async def tags(request: Request) -> Response:
    """Every model that can be named here, the newest first."""
    return Answer({"models": await rows(request, _listed)})


async def ps(request: Request) -> Response:
    """The models in memory, the longest kept first."""
    engines = state(request).engines
    loaded = [(model, engines.expires_at(model)) for model in engines.loaded()]
    return Answer({"models": await while_wanted(request, asyncio.to_thread(_ps, loaded))})


async def show(request: Request) -> Response:
    """All that a model's file says of it."""
    body = await read(request, ShowRequest)
    choice = await while_wanted(request, state(request).names.find(body.model or body.name or ""))
    return Answer(await while_wanted(request, asyncio.to_thread(_shown, choice, bool(body.verbose))))


async def version(request: Request) -> Response:
    """bankml's own version."""
    return Answer({"version": bankml.__version__})


async def rows(request: Request, row: Callable[[Description], Row]) -> list[Row]:
    """`row` of every model on this machine, the newest first; a file that cannot be read is left out.

    It runs in a thread: the digest of a large file takes seconds the first time. Raises as `while_wanted`.
    """
    return await while_wanted(request, asyncio.to_thread(_rows, state(request).names.served, row))


def _rows(served: Choice, row: Callable[[Description], Row]) -> list[Row]:
    here = {choice.path: choice for choice in choices() if choice.present}
    found = []
    for choice in ({served.path: served} | here).values():
        with suppress(Error, OSError):
            entry = describe(choice)
            found.append((entry.modified, row(entry)))
    return [row for _, row in sorted(found, key=lambda pair: -pair[0])]


def _ps(loaded: list[tuple[Loaded, float]]) -> list[Row]:
    found = []
    for model, expires_at in loaded:
        with suppress(Error, OSError):
            found.append(_in_memory(model, expires_at))
    return found


def _listed(entry: Description) -> Row:
    return {
        "name": entry.name,
        "model": entry.name,
        "modified_at": _time(entry.modified),
        "size": entry.size,
        "digest": entry.digest,
        "details": entry.details,
        "capabilities": ["embedding"],
    }


def _in_memory(loaded: Loaded, expires_at: float) -> Row:
    """Ollama's fields, and `resident`: bytes of the file in this process's memory, and of its tables beside it."""
    entry = describe(loaded.choice)
    mapped = resident.mapped(loaded.choice.path, *loaded.file[:2]) if loaded.file else None
    return {
        "name": entry.name,
        "model": entry.name,
        "size": entry.size,
        "digest": entry.digest,
        "details": entry.details,
        "expires_at": _time(expires_at),
        "size_vram": 0,
        "resident": None if mapped is None else mapped + loaded.need.tables,
        "context_length": loaded.encoder.context_length,
    }


def _shown(choice: Choice, verbose: bool) -> dict[str, Any]:
    entry = describe(choice)
    metadata = header.whole_metadata(choice.path) if verbose else entry.metadata
    shown = {
        "license": entry.licence,
        "modelfile": f"FROM {choice.path}\n",
        "parameters": entry.parameters,
        "template": "{{ .Prompt }}",
        "details": entry.details,
        "model_info": metadata | {"general.parameter_count": entry.parameter_count},
        "capabilities": ["embedding"],
        "modified_at": _time(entry.modified),
    }
    return shown | ({"tensors": entry.tensors} if verbose else {})


def _time(seconds: float) -> str:
    """RFC 3339; a model kept for ever expires when Go's longest duration is over, as in Ollama."""
    latest = datetime.now(UTC).timestamp() + FOREVER / 1e9
    return datetime.fromtimestamp(min(seconds, latest), UTC).isoformat()
