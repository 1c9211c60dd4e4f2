"""What is on this machine and in memory: /api/tags, /api/ps, /api/show, /api/version; also the list of /v1/models."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

import bankml
from bankml import models
from bankml.errors import Error
from bankml.models import Choice
from bankml.serve.answers import Answer
from bankml.serve.bodies import read
from bankml.serve.description import Description, describe
from bankml.serve.durations import FOREVER
from bankml.serve.engines import Loaded
from bankml.serve.errors import RefusedError
from bankml.serve.state import State, state


class ShowRequest(msgspec.Struct):
    """The body of /api/show; `name` is the older field."""

    model: str | None = None
    name: str | None = None
    verbose: bool | None = None


async def tags(request: Request) -> Response:
    """Every model that can be named here, the newest first."""
    return Answer({"models": [_listed(entry) for entry in await entries(state(request))]})


async def ps(request: Request) -> Response:
    """The models in memory, the longest kept first."""
    loaded = state(request).engines.loaded()
    return Answer({"models": [await asyncio.to_thread(_in_memory, entry) for entry in loaded]})


async def show(request: Request) -> Response:
    """All that a model's file says of it."""
    body = await read(request, ShowRequest)
    choice = await state(request).names.find(body.model or body.name or "")
    return Answer(await asyncio.to_thread(_shown, choice, bool(body.verbose)))


async def version(request: Request) -> Response:
    """bankml's own version."""
    return Answer({"version": bankml.__version__})


async def entries(shared: State) -> list[Description]:
    """Every model on this machine, the newest first; a file that cannot be read is left out."""
    return await asyncio.to_thread(_entries, shared.names.served)


def _entries(served: Choice) -> list[Description]:
    choices = {str(entry.choice.path): entry.choice for entry in models.list_models() if entry.present}
    found = []
    for choice in ({str(served.path): served} | choices).values():
        try:
            found.append(describe(choice))
        except (Error, OSError):
            continue
    return sorted(found, key=lambda entry: -entry.modified)


def _listed(entry: Description) -> dict[str, Any]:
    return {
        "name": entry.name,
        "model": entry.name,
        "modified_at": _time(entry.modified),
        "size": entry.size,
        "digest": entry.digest,
        "details": entry.details,
        "capabilities": ["embedding"],
    }


def _in_memory(loaded: Loaded) -> dict[str, Any]:
    entry = describe(loaded.choice)
    return {
        "name": entry.name,
        "model": entry.name,
        "size": entry.size,
        "digest": entry.digest,
        "details": entry.details,
        "expires_at": _time(loaded.expires_at),
        "size_vram": 0,
        "context_length": loaded.encoder.context_length,
    }


def _shown(choice: Choice, verbose: bool) -> dict[str, Any]:
    try:
        entry = describe(choice)
    except OSError as error:
        raise RefusedError(500, f"{choice.path} cannot be read: {error.strerror}") from None
    shown = {
        "license": entry.licence,
        "modelfile": f"FROM {choice.path}\n",
        "parameters": entry.parameters,
        "template": "{{ .Prompt }}",
        "details": entry.details,
        "model_info": entry.metadata | {"general.parameter_count": entry.parameter_count},
        "capabilities": ["embedding"],
        "modified_at": _time(entry.modified),
    }
    return shown | ({"tensors": entry.tensors} if verbose else {})


def _time(seconds: float) -> str:
    """RFC 3339; a model kept for ever expires when Go's longest duration is over, as in Ollama."""
    latest = datetime.now(UTC).timestamp() + FOREVER / 1e9
    return datetime.fromtimestamp(min(seconds, latest), UTC).isoformat()
