"""The routes of a history: POST /history/search, POST /history/exchange, GET /history/status."""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bankml.errors import StoreError
from bankml.serve.answers import Answer
from bankml.serve.bodies import read
from bankml.serve.errors import RefusedError
from bankml.serve.ledger import ledger
from bankml.serve.workers import while_wanted

if TYPE_CHECKING:
    from bankml.serve.ragebar import Ragebar

T = TypeVar("T")


class SearchRequest(msgspec.Struct):
    """The body of /history/search: what is looked for, how many exchanges are wanted, and what is shown already."""

    query: str = ""
    k: int = 8
    shown: str = ""


class ExchangeRequest(msgspec.Struct):
    """The body of /history/exchange: which one, and what is marked in it."""

    id: int
    query: str = ""


async def search(request: Request) -> Response:
    """Exchanges by words and by meaning; the latest ones for an empty query."""
    body = await read(request, SearchRequest)
    return Answer(await _beside(request, lambda ragebar: ragebar.search(body.query, body.k, body.shown)))


async def exchange(request: Request) -> Response:
    """One exchange whole."""
    body = await read(request, ExchangeRequest)
    found = await _beside(request, lambda ragebar: ragebar.exchange(body.id, body.query))
    if found is None:
        raise RefusedError(404, f"the history has no exchange {body.id}; search again")
    return Answer(found)


async def status(request: Request) -> Response:
    """How much there is, and how much of it is embedded."""
    return Answer(await _beside(request, lambda ragebar: ragebar.status()))


ROUTES = [
    Route("/history/search", search, methods=["POST"]),
    Route("/history/exchange", exchange, methods=["POST"]),
    Route("/history/status", status),
]


async def _beside(request: Request, work: Callable[["Ragebar"], T]) -> T:
    """`work` on a thread; it is not begun when its client has left by then. Raises RefusedError, FullError."""
    ragebar: Ragebar = request.app.state.ragebar
    ledger(request.scope).admit(request.scope)
    try:
        return await while_wanted(request, ragebar.workers.run(lambda gone: work(ragebar)))
    except StoreError as error:
        raise RefusedError(503, str(error)) from error
