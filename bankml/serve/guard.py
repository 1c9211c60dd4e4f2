"""Keeps web pages that the user happens to visit away from a server on loopback: no DNS rebinding, no form posts."""

import ipaddress
import socket

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from bankml.serve.errors import RefusedError, refuse

LOCAL_SUFFIXES = (".localhost", ".local", ".internal")  # never public names, so never rebound


class Guard:
    """ASGI middleware. `loopback`: the server is bound to a loopback address, so the Host header must be local."""

    def __init__(self, app: ASGIApp, loopback: bool) -> None:
        self._app = app
        self._loopback = loopback

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._refusal(scope) if scope["type"] == "http" else None
        if refusal is None:
            await self._app(scope, receive, send)
        else:
            await refuse(Request(scope), refusal)(scope, receive, send)

    def _refusal(self, scope: Scope) -> RefusedError | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if self._loopback and not is_local(host):
            return RefusedError(403, f"the Host header {host!r} is not this machine's; use 127.0.0.1 or localhost")
        posted = scope["method"] not in ("GET", "HEAD", "OPTIONS")
        if posted and "origin" in headers and not _is_json(headers.get("content-type", "")):
            return RefusedError(415, "a request from a web page needs the header Content-Type: application/json")
        return None


def is_local(host: str) -> bool:
    """Whether a Host header names this machine: an address, localhost, its own name, or nothing; a port may follow."""
    name = _without_port(host).lower().rstrip(".")
    return name in ("", "localhost", socket.gethostname().lower()) or name.endswith(LOCAL_SUFFIXES) or _is_address(name)


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.rpartition(":")[0] or host if host.count(":") == 1 else host


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _is_json(content_type: str) -> bool:
    return content_type.partition(";")[0].strip().lower() == "application/json"
