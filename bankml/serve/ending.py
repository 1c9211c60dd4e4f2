"""What clients are told whose requests outlive the server's grace period."""

import asyncio

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bankml.serve.errors import ENDING, RefusedError, refuse


class Ending:
    """ASGI middleware: a request that uvicorn cancels is answered with 503, unless its answer is on the way already."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def sending(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._app(scope, receive, sending)
        except asyncio.CancelledError:  # nothing awaits below, so that the second one, asyncio.run's, comes too late
            if not started:
                await refuse(Request(scope), RefusedError(503, ENDING))(scope, receive, send)
