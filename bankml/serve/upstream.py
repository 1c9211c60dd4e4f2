"""The local Ollama on behalf of a client: the request goes there, the answer comes back, both as they come."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import httpx
import orjson
from starlette.types import Receive, Scope, Send

from bankml.ollama_address import is_loopback
from bankml.serve.errors import BrokenOffError
from bankml.serve.limits import Limits
from bankml.serve.patience import Patient

MARK = "x-bankml-forwarded"  # what carries it is not forwarded again: two servers could name each other
CONNECT, SILENCE, LISTING = 5.0, 3600.0, 5.0  # seconds; a pull or a long prompt may be silent for minutes

_HOP = frozenset(
    "connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer transfer-encoding "
    "upgrade".split()
)
# The key is bankml's, and what came from a page was judged here: Ollama has another list of origins.
_NOT_SENT = _HOP | {"host", "authorization", "x-api-key", "cookie", "origin", "referer", "expect", MARK}
_NOT_RETURNED = _HOP | {"date"}  # uvicorn's own


class UnreachableError(Exception):
    """Nothing listens where Ollama should; nothing was read of the request or sent to the client."""


class BrokenError(Exception):
    """Ollama took the request and did not answer it; nothing was sent to the client."""


class Upstream:
    """An Ollama at `url`. Proxies of the environment are not asked: texts would leave the machine."""

    def __init__(self, url: str) -> None:
        self.url = url
        timeout = httpx.Timeout(SILENCE, connect=CONNECT, pool=None)
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)  # a kept one may just have been closed
        self._client = httpx.AsyncClient(trust_env=False, timeout=timeout, limits=limits)

    async def forward(self, scope: Scope, receive: Receive, send: Send, limits: Limits) -> None:
        """Answers the request with Ollama's answer; when the client leaves, Ollama is left too.

        Raises UnreachableError, BrokenError or RefusedError (408) where nothing was sent to the client yet.
        """
        read = asyncio.Event()
        if not has_body(scope):
            read.set()
        exchange = asyncio.create_task(self._exchange(scope, Patient(receive, limits), send, read))
        leaving = asyncio.create_task(_left(receive, read))
        try:
            await asyncio.wait((exchange, leaving), return_when=asyncio.FIRST_COMPLETED)
            if not exchange.done():
                exchange.cancel()
            with suppress(asyncio.CancelledError):
                await exchange
        finally:
            exchange.cancel()
            leaving.cancel()

    async def listed(self, path: str, key: str) -> list[dict[str, Any]]:
        """The rows of one of Ollama's lists; none where it does not answer as it should within five seconds."""
        try:
            response = await self._client.get(self.url + path, headers={MARK: "1"}, timeout=LISTING)
            rows = orjson.loads(response.content)[key] if response.status_code == 200 else []
        except (httpx.HTTPError, ValueError, KeyError, TypeError):
            return []
        return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []

    async def close(self) -> None:
        """Let go of every connection."""
        await self._client.aclose()

    async def _exchange(self, scope: Scope, receive: Receive, send: Send, read: asyncio.Event) -> None:
        response = await self._asked(self._request(scope, _content(receive, read)))
        try:
            await send({"type": "http.response.start", "status": response.status_code, "headers": _returned(response)})
            await _stream(response, send)
        finally:
            await response.aclose()

    async def _asked(self, request: httpx.Request) -> httpx.Response:
        try:
            return await self._client.send(request, stream=True)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise UnreachableError(str(error)) from None
        except httpx.HTTPError as error:
            raise BrokenError(str(error) or type(error).__name__) from None

    def _request(self, scope: Scope, content: AsyncIterator[bytes]) -> httpx.Request:
        path = scope.get("raw_path") or scope["path"].encode()
        query = b"?" + scope["query_string"] if scope["query_string"] else b""
        headers = _sent(scope["headers"])
        url = self.url + (path + query).decode("latin-1")
        return httpx.Request(scope["method"], url, headers=headers, content=content if has_body(scope) else None)


def is_own(url: str, listener: socket.socket) -> bool:
    """Whether a server at `listener` would forward to itself."""
    if listener.family not in (socket.AF_INET, socket.AF_INET6):
        return False
    host, port, *_ = listener.getsockname()
    parts = urlsplit(url)
    here = f"http://[{host}]" if ":" in host else f"http://{host}"
    return parts.port == port and (parts.hostname == host or (is_loopback(url) and is_loopback(here)))


def has_body(scope: Scope) -> bool:
    """Whether something follows the head of the request."""
    return any(name in (b"content-length", b"transfer-encoding") for name, _ in scope["headers"])


async def _content(receive: Receive, read: asyncio.Event) -> AsyncIterator[bytes]:
    try:
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise asyncio.CancelledError  # half a request is nobody's
            more = message.get("more_body", False)
            yield message.get("body", b"")
    finally:
        read.set()


async def _left(receive: Receive, read: asyncio.Event) -> None:
    """Ends when the client hangs up, which only shows behind its body."""
    await read.wait()
    while (await receive())["type"] != "http.disconnect":
        pass


async def _stream(response: httpx.Response, send: Send) -> None:
    """Ollama ends a stream that fails with a line that says so; any other body that breaks off breaks off here too."""
    try:
        async for chunk in response.aiter_raw():
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
    except httpx.HTTPError as error:
        if "ndjson" not in response.headers.get("content-type", ""):
            raise BrokenOffError from None
        sentence = f"Ollama broke off its answer ({str(error) or type(error).__name__}); ask again"
        await send({"type": "http.response.body", "body": orjson.dumps({"error": sentence}) + b"\n", "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


def _sent(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    left_out = _NOT_SENT | _named(value for name, value in headers if name == b"connection")
    kept = [(name, value) for name, value in headers if name.decode("latin-1").lower() not in left_out]
    return [*kept, (MARK.encode(), b"1")]


def _returned(response: httpx.Response) -> list[tuple[bytes, bytes]]:
    left_out = _NOT_RETURNED | _named(value for name, value in response.headers.raw if name.lower() == b"connection")
    lowered = ((name.lower(), value) for name, value in response.headers.raw)
    return [(n, v) for n, v in lowered if n.decode("latin-1") not in left_out and not n.startswith(b"access-control-")]


def _named(values: Iterable[bytes]) -> frozenset[str]:
    """Headers that a Connection header names as its own."""
    return frozenset(token.strip().lower() for value in values for token in value.decode("latin-1").split(","))
