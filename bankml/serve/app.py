"""The routes of the server, wired together."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from bankml.errors import Error
from bankml.serve import catalogue, history, kb, ollama, openai, openapi, own, pages, stats
from bankml.serve.access import ANYBODY, Access
from bankml.serve.ending import Ending
from bankml.serve.entrance import Entrance
from bankml.serve.errors import ONLY_EMBEDS, RefusedError, refuse
from bankml.serve.guard import Guard
from bankml.serve.keys import Keys
from bankml.serve.ledger import Accounts
from bankml.serve.origins import cors
from bankml.serve.recorder import Recorder
from bankml.serve.session import Session
from bankml.serve.state import State
from bankml.serve.visit import Visit

if TYPE_CHECKING:
    from bankml.serve.knowledge import Knowledge
    from bankml.serve.ragebar import Ragebar
    from bankml.serve.upstream import Upstream

ROUTES = [
    Route("/api/embed", ollama.embed, methods=["POST"]),
    Route("/api/embeddings", ollama.embeddings, methods=["POST"]),
    Route("/api/tags", catalogue.tags),
    Route("/api/ps", catalogue.ps),
    Route("/api/show", catalogue.show, methods=["POST"]),
    Route("/api/version", catalogue.version),
    Route("/v1/embeddings", openai.embeddings, methods=["POST"]),
    Route("/v1/models", openai.models),
    Route("/v1/models/{id:path}", openai.model),
    Route("/health", own.health),
    Route("/health/live", own.live),
    Route("/health/ready", own.ready),
    Route("/info", own.info),
    Route("/tokenize", own.tokenize, methods=["POST"]),
    Route("/metrics", stats.metrics),
    Route("/stats", stats.stats),
    Route("/openapi.json", openapi.openapi),
    Route("/docs", pages.docs),
    Route("/ui", pages.ui),
]

# What Ollama answers below /api/ and an encoder cannot.
METHODS = ["GET", "POST", "PUT", "DELETE"]
ELSEWHERE = ["generate", "chat", "create", "copy", "delete", "pull", "push", "blobs/{digest}"]


async def elsewhere(request: Request) -> Response:
    """404 with what to do, for routes of Ollama that have nothing to do with embedding."""
    raise RefusedError(404, ONLY_EMBEDS.format(path=request.url.path))


async def root(request: Request) -> Response:
    """The sentence that clients of Ollama ping for."""
    return PlainTextResponse("Ollama is running")


def create_app(
    shared: State,
    loopback: bool,
    access: Access = ANYBODY,
    upstream: "Upstream | None" = None,
    log: Callable[[Visit], None] | None = None,
    ragebar: "Ragebar | None" = None,
    knowledge: "Knowledge | None" = None,
) -> Starlette:
    """The ASGI application. `loopback`: it is bound to a loopback address, so foreign Host headers are refused.

    `upstream`: the Ollama that gets what bankml does not answer; None: nothing is forwarded. `log` is called with each
    request that is over, see Recorder. `ragebar` and `knowledge`: the history and the knowledge base that are searched
    under /ui.
    """
    session = _session(access, ragebar, knowledge)
    entrance = [Middleware(Entrance, session=session, keys=bool(access.keys))] if session else []
    routes = [*ROUTES, *(history.ROUTES if ragebar else []), *(kb.ROUTES if knowledge else [])]
    keys = [Middleware(Keys, keys=access.keys)] if access.keys else []
    forwarding = []
    if upstream:
        from bankml.serve.forwarding import Forwarding

        forwarding = [Middleware(Forwarding, names=shared.names, upstream=upstream)]
    held = shared.ledger.held
    shared.metrics.watch(lambda: (held.requests, held.tokens), lambda: len(shared.engines.loaded()))
    app = Starlette(
        routes=[Route("/", root), *routes, *(Route(f"/api/{path}", elsewhere, methods=METHODS) for path in ELSEWHERE)],
        middleware=[
            Middleware(Recorder, metrics=shared.metrics, log=log),
            Middleware(Ending),
            Middleware(Guard, loopback=loopback),
            *cors(access.origins),
            *entrance,
            *keys,
            Middleware(Accounts, ledger=shared.ledger),
            *forwarding,
        ],
        exception_handlers=dict.fromkeys((RefusedError, Error, HTTPException, MemoryError, Exception), refuse),
    )
    app.state.shared = shared
    app.state.upstream = upstream
    app.state.ragebar = ragebar
    app.state.knowledge = knowledge
    app.state.session = session
    app.state.origins = access.origins
    tabs = {pages.SERVER: True, pages.HISTORY: ragebar, pages.KNOWLEDGE: knowledge}
    app.state.tabs = tuple(tab for tab, served in tabs.items() if served)
    return app


def _session(access: Access, ragebar: "Ragebar | None", knowledge: "Knowledge | None") -> Session | None:
    """Whose browser may ask without a key; None where nothing is served that asks for more than the models do."""
    if ragebar:
        return ragebar.session
    return knowledge.session if knowledge and access.keys else None
