"""A server of one history alone, for the browser of the person who started it: `bankml history open`."""

import asyncio
import socket
from collections.abc import Callable
from threading import Event

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from bankml.errors import Error
from bankml.serve import connections, history, pages
from bankml.serve.ending import Ending
from bankml.serve.entrance import Entrance
from bankml.serve.errors import RefusedError, refuse
from bankml.serve.guard import Guard
from bankml.serve.http import Http
from bankml.serve.ledger import Accounts, Ledger
from bankml.serve.metrics import Metrics
from bankml.serve.ragebar import Ragebar
from bankml.serve.recorder import Recorder


async def root(request: Request) -> Response:
    """To the page."""
    return RedirectResponse("/ui", 303)


def create_app(ragebar: Ragebar) -> Starlette:
    """The ASGI application, bound to a loopback address."""
    app = Starlette(
        routes=[Route("/", root), Route("/ui", pages.ui), *history.ROUTES],
        middleware=[
            Middleware(Recorder, metrics=Metrics()),
            Middleware(Ending),
            Middleware(Guard, loopback=True),
            Middleware(Entrance, session=ragebar.session, keys=False),
            Middleware(Accounts, ledger=Ledger()),
        ],
        exception_handlers=dict.fromkeys((RefusedError, Error, HTTPException, MemoryError, Exception), refuse),
    )
    app.state.ragebar = ragebar
    app.state.session = ragebar.session
    app.state.tabs = (pages.HISTORY,)
    return app


def run(ragebar: Ragebar, listener: socket.socket, ready: Callable[[], None]) -> None:
    """Serve until SIGINT or SIGTERM; `ready` is called when connections are accepted."""
    try:
        asyncio.run(Http(create_app(ragebar), None, ready, Event(), connections.most()).answer(listener))
    finally:
        ragebar.close()
