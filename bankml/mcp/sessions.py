"""Sessions over HTTP: which one ends for a new one when there are too many."""

from collections import Counter

from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

ID = "mcp-session-id"
VERSION = "mcp-protocol-version"


class Sessions:
    """ASGI middleware: of `most` sessions the one that has asked nothing for the longest makes way for a new one.

    Clients leave without a word, and the SDK refuses new ones then until the old ones' time is over. Belongs to one
    event loop.
    """

    def __init__(self, app: ASGIApp, most: int) -> None:
        self._app, self._most = app, most
        self._known: dict[str, None] = {}  # by when they last asked: dictionaries keep the order
        self._asking: Counter[str] = Counter()  # requests in flight
        self._opening = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        if id := headers.get(ID):
            await self._ask(id, scope, receive, send)
        elif headers.get(VERSION, HANDSHAKE_PROTOCOL_VERSIONS[0]) in HANDSHAKE_PROTOCOL_VERSIONS:
            await self._open(scope, receive, send)
        else:  # of a client whose requests are of no session
            await self._app(scope, receive, send)

    async def _open(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sending(message: Message) -> None:
            if message.get("status") == 200 and (id := Headers(raw=message["headers"]).get(ID)):
                self._known[id] = None
            await send(message)

        self._opening += 1
        try:
            await self._make_room(scope)
            await self._app(scope, receive, sending)
        finally:
            self._opening -= 1

    async def _ask(self, id: str, scope: Scope, receive: Receive, send: Send) -> None:
        ended = scope["method"] == "DELETE"

        async def sending(message: Message) -> None:
            nonlocal ended
            ended = ended or message.get("status") == 404
            await send(message)

        self._asking[id] += 1
        try:
            await self._app(scope, receive, sending)
        finally:
            self._asking -= Counter([id])  # which keeps none that ask nothing
            if id in self._known:
                del self._known[id]
                self._known |= {} if ended else {id: None}

    async def _make_room(self, scope: Scope) -> None:
        while len(self._known) + self._opening > self._most:
            if (idle := next((id for id in self._known if id not in self._asking), None)) is None:
                return
            del self._known[idle]
            headers = [(ID.encode(), idle.encode()), (b"accept", b"application/json")]
            await self._app({**scope, "method": "DELETE", "headers": headers}, _nothing, _nobody)


async def _nothing() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _nobody(message: Message) -> None:
    pass
