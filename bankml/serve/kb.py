"""The routes of a knowledge base: POST /kb/search, POST /kb/source, POST /kb/add, GET /kb/status."""

import sqlite3
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bankml.embedders.embedder import Cancelled
from bankml.errors import MismatchError, StoreError, UnavailableError
from bankml.serve import sites
from bankml.serve.answers import Answer
from bankml.serve.bodies import read
from bankml.serve.errors import RefusedError
from bankml.serve.ledger import ledger
from bankml.serve.workers import Workers, while_wanted

if TYPE_CHECKING:
    from bankml.serve.knowledge import Knowledge

T = TypeVar("T")
S = TypeVar("S", bound=msgspec.Struct)

Mode = Literal["words", "meaning", "fused"]
TextType = Literal["text", "rst", "markdown", "html", "code", "json", "jsonl", "csv"]


class SearchRequest(msgspec.Struct, forbid_unknown_fields=True):
    """The body of /kb/search: what is looked for, in which passages, and how long its meaning may take.

    A key that is none of these is refused, for a filter with a slip in its name would filter nothing.
    """

    query: str = ""
    n: int | float = 10
    mode: Mode = "fused"
    path: list[str] | str | None = None
    type: list[str] | str | None = None
    after: str | None = None
    before: str | None = None
    document: int | float | None = None
    wait: float | None = None
    shown: str = ""


class SourceRequest(msgspec.Struct):
    """The body of /kb/source: which passage, and what is marked in its source."""

    id: int | float
    query: str = ""


class Document(msgspec.Struct):
    """A text with the name that it is kept under."""

    name: str
    text: str
    type: TextType | None = None


class AddRequest(msgspec.Struct):
    """The body of /kb/add."""

    documents: list[Document]


async def search(request: Request) -> Response:
    """Passages by words and by meaning."""
    body = await _body(request, SearchRequest)
    asked = msgspec.structs.asdict(body) | {"n": _integer("n", body.n), "document": _whole("document", body.document)}
    return Answer(await _beside(request, knowledge(request).searches, lambda gone: knowledge(request).search(**asked)))


async def source(request: Request) -> Response:
    """The text around a passage."""
    body = await _body(request, SourceRequest)
    id = _integer("id", body.id)
    found = await _beside(request, knowledge(request).searches, lambda gone: knowledge(request).source(id, body.query))
    if found is None:
        raise RefusedError(404, f"the knowledge base has no passage {id}; search again")
    return Answer(found)


async def add(request: Request) -> Response:
    """Texts into the knowledge base; one request after the other."""
    body = await _body(request, AddRequest)
    return Answer(
        await _beside(request, knowledge(request).additions, lambda gone: knowledge(request).add(body.documents, gone))
    )


async def status(request: Request) -> Response:
    """How much there is, and how much of it is embedded."""
    return Answer(await _beside(request, knowledge(request).searches, lambda gone: knowledge(request).status()))


ROUTES = [
    Route("/kb/search", search, methods=["POST"]),
    Route("/kb/source", source, methods=["POST"]),
    Route("/kb/add", add, methods=["POST"]),
    Route("/kb/status", status),
]


def knowledge(request: Request) -> "Knowledge":
    """What the server of this request serves."""
    found: Knowledge = request.app.state.knowledge
    return found


async def _body(request: Request, kind: type[S]) -> S:
    """Raises RefusedError as `bodies.read`, and for pages of other sites."""
    sites.check(request.headers, request.app.state.origins)
    return await read(request, kind)


async def _beside(request: Request, workers: Workers, work: Callable[[Cancelled], T]) -> T:
    """`work` on a thread; it is not begun when its client has left by then. Raises RefusedError, FullError."""
    ledger(request.scope).admit(request.scope)
    try:
        return await while_wanted(request, workers.run(work))
    except UnavailableError as error:
        raise RefusedError(503, str(error)) from error
    except StoreError as error:
        raise RefusedError(_status(error), str(error)) from error


def _integer(name: str, given: float) -> int:
    """A number that JSON may have written as 10.0."""
    if given != given // 1:
        raise RefusedError(400, f"{name} is {given}; give a whole number")
    return int(given)


def _whole(name: str, given: float | None) -> int | None:
    return None if given is None else _integer(name, given)


def _status(error: StoreError) -> int:
    """409: it is of another model; 507: its disk is full; 503: as things are it cannot be read or written."""
    if isinstance(error, MismatchError):
        return 409
    cause = error.__cause__
    full = isinstance(cause, sqlite3.Error) and getattr(cause, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_FULL
    return 507 if full else 503
