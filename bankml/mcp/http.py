"""The server over streamable HTTP, for clients of this machine or for who has a key."""

import asyncio
import socket
from collections.abc import Callable
from threading import Event
from typing import Any

from mcp.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from bankml.errors import Error
from bankml.mcp.sessions import Sessions
from bankml.serve import connections, sites
from bankml.serve.ending import Ending
from bankml.serve.errors import RefusedError, refuse
from bankml.serve.guard import Guard
from bankml.serve.http import Http
from bankml.serve.keys import Keys
from bankml.serve.listener import is_loopback

PATH = "/mcp"
MOST_BODY = 8 * 2**20  # bytes of a message, as over stdin
MOST_SESSIONS = 256  # of clients, at some 100 kB each
IDLE = 1800.0  # seconds after which a session that asks nothing is forgotten


class Pages:
    """ASGI middleware: a web page that is not this server's own may ask nothing."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            sites.check(Headers(scope=scope), ())
        except RefusedError:
            refusal = RefusedError(403, "a web page of another site may not ask this server; ask it from a program")
            await refuse(Request(scope), refusal)(scope, receive, send)
        else:
            await self._app(scope, receive, send)


class Exchange:
    """The endpoint: every POST is answered by itself. It has no stream to listen to: nothing comes unasked."""

    def __init__(self, manager: StreamableHTTPSessionManager) -> None:
        self._manager = manager

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._manager.handle_request(scope, receive, send)


def app(manager: StreamableHTTPSessionManager, loopback: bool, keys: tuple[str, ...]) -> Starlette:
    """The ASGI application; it answers while `manager.run()` is entered."""
    return Starlette(
        routes=[Route(PATH, Exchange(manager), methods=["POST", "DELETE"])],
        middleware=[
            Middleware(Ending),
            Middleware(Guard, loopback=loopback),
            Middleware(Pages),
            *([Middleware(Keys, keys=keys)] if keys else []),
            Middleware(Sessions, most=MOST_SESSIONS),
        ],
        exception_handlers=dict.fromkeys((RefusedError, Error, HTTPException, MemoryError, Exception), refuse),
    )


def run(server: Server[Any], listener: socket.socket, keys: tuple[str, ...], ready: Callable[[], None]) -> None:
    """Serve until SIGINT or SIGTERM; `ready` is called when connections are accepted."""

    async def answer() -> None:
        manager = StreamableHTTPSessionManager(
            server,
            json_response=True,
            max_request_body_size=MOST_BODY,
            max_sessions=MOST_SESSIONS,
            session_idle_timeout=IDLE,
        )
        async with manager.run():
            served = app(manager, is_loopback(listener), keys)
            await Http(served, None, ready, Event(), connections.most()).answer(listener)

    asyncio.run(answer())
