"""bankml's own routes: /health, /health/live, /health/ready, /info, /tokenize."""

import asyncio
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

import bankml
from bankml.encoder import Encoder
from bankml.serve import answering
from bankml.serve.answers import Answer, tokens_answer
from bankml.serve.bodies import NULL, listed, read
from bankml.serve.errors import ENDING, RefusedError
from bankml.serve.state import state
from bankml.serve.workers import while_wanted

if TYPE_CHECKING:
    from bankml.serve.upstream import Upstream


class TokenizeRequest(msgspec.Struct):
    """The body of /tokenize; without a model, the served one."""

    model: str | None = None
    input: msgspec.Raw = msgspec.field(default_factory=lambda: msgspec.Raw(NULL))


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
    """The next request would be served: the server is not ending, its model's file is there, the queue has room."""
    shared = state(request)
    served = shared.names.served
    if shared.ending.is_set():
        raise RefusedError(503, ENDING)
    if not served.path.is_file():
        raise RefusedError(503, f"the file of {served.name} is gone: {served.path}")
    if shared.ledger.full:
        raise shared.ledger.refusal()
    return Answer({"status": "ok", "model": served.name})


async def info(request: Request) -> Response:
    """The served model, how it is computed, how many texts one request may hold, and who answers for which model."""
    shared = state(request)
    async with shared.engines.hold(shared.names.served) as loaded:
        about = await shared.run(request, loaded, lambda encoder, gone: _info(encoder))
    about |= {"max_texts": shared.max_texts, "limits": asdict(shared.ledger.limits), "version": bankml.__version__}
    return Answer(about | await _answering(request))


async def tokenize(request: Request) -> Response:
    """Token ids of a text or of each of a list of texts, special tokens included, uncut."""
    body = await read(request, TokenizeRequest)
    if bytes(body.input) == NULL:
        raise RefusedError(400, "input is required: a text or a list of texts")
    shared = state(request)
    texts = listed(body.input, shared.max_texts)
    choice = await while_wanted(request, shared.names.find(body.model)) if body.model else shared.names.served
    async with shared.engines.hold(choice) as loaded:
        tokens = await shared.tokenize(request, loaded, texts)
    return tokens_answer({"model": body.model or choice.name, "tokens": None}, "tokens", tokens)


async def _answering(request: Request) -> dict[str, Any]:
    upstream: Upstream | None = request.app.state.upstream
    theirs = [str(row.get("name")) for row in await upstream.listed("/api/tags", "models")] if upstream else []
    url = upstream.url if upstream else None
    served = state(request).names.served
    table = asyncio.to_thread(answering.table, served, url, theirs)
    return {"forward": url, "models": await while_wanted(request, table)}


def _info(encoder: Encoder) -> dict[str, Any]:
    names = ("name", "digest", "arch", "dims", "context_length", "pooling", "backend", "threads")
    return {name: getattr(encoder, name) for name in names}
