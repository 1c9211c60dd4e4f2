"""bankml's own routes: /health, /health/live, /health/ready, /info, /tokenize."""

from collections.abc import Callable
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

import bankml
from bankml.encoder import Encoder
from bankml.errors import Error
from bankml.serve.answers import Answer
from bankml.serve.bodies import MAX_TEXTS, listed, read
from bankml.serve.ending import ENDING
from bankml.serve.errors import RefusedError
from bankml.serve.state import state


class TokenizeRequest(msgspec.Struct):
    """The body of /tokenize; without a model, the served one."""

    model: str | None = None
    input: Any = None


async def health(request: Request) -> Response:
    """Alive, and what is in memory."""
    shared = state(request)
    return Answer(
        {
            "status": "ok",
            "version": bankml.__version__,
            "model": shared.names.served.name,
            "loaded": [loaded.choice.name for loaded in shared.engines.loaded()],
        }
    )


async def live(request: Request) -> Response:
    """The process answers."""
    return Answer({"status": "ok"})


async def ready(request: Request) -> Response:
    """The served model can be used: the socket opens after it was loaded, so what remains is that its file is there.

    503 too when the server has been told to end, so that whoever shares out requests sends no more.
    """
    if state(request).ending.is_set():
        raise RefusedError(503, ENDING)
    served = state(request).names.served
    if not served.path.is_file():
        raise RefusedError(503, f"the file of {served.name} is gone: {served.path}")
    return Answer({"status": "ok", "model": served.name})


async def info(request: Request) -> Response:
    """The served model, how it is computed, and how many texts one request may hold."""
    shared = state(request)
    async with shared.engines.hold(shared.names.served) as loaded:
        return Answer(await shared.run(request, loaded, lambda encoder, cancelled: _info(encoder)))


async def tokenize(request: Request) -> Response:
    """Token ids of a text or of each of a list of texts, special tokens included, uncut."""
    body = await read(request, TokenizeRequest)
    if body.input is None:
        raise RefusedError(400, "input is required: a text or a list of texts")
    texts = listed(body.input)
    shared = state(request)
    choice = await shared.names.find(body.model) if body.model else shared.names.served
    async with shared.engines.hold(choice) as loaded:

        def call(encoder: Encoder, cancelled: Callable[[], bool]) -> list[list[int]]:
            return [_tokens(encoder, index, text) for index, text in enumerate(texts)]

        tokens = await shared.run(request, loaded, call)
    return Answer({"model": body.model or choice.name, "tokens": tokens})


def _tokens(encoder: Encoder, index: int, text: str) -> list[int]:
    try:
        return encoder.tokenize(text)
    except Error as error:
        error.index = index
        raise


def _info(encoder: Encoder) -> dict[str, Any]:
    names = ("name", "digest", "arch", "dims", "context_length", "pooling", "backend", "threads")
    return {name: getattr(encoder, name) for name in names} | {"max_texts": MAX_TEXTS, "version": bankml.__version__}
