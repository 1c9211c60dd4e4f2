"""Bytes that change only with the version of the server: a client that has them is told so."""

from collections.abc import Mapping
from hashlib import sha256

from starlette.requests import Request
from starlette.responses import Response


class Cached:
    """An answer with an ETag, asked for anew by each client (`no-cache`) and sent only to those that lack it."""

    def __init__(self, content: bytes, content_type: str, headers: Mapping[str, str] | None = None) -> None:
        self._content = content
        etag = f'"{sha256(content).hexdigest()[:32]}"'
        self._headers = {**(headers or {}), "Content-Type": content_type, "Cache-Control": "no-cache", "ETag": etag}

    def answer(self, request: Request) -> Response:
        """200 with the bytes, or 304 where the request names them as what it has."""
        known = (tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(","))
        if self._headers["ETag"] in known:
            return Response(status_code=304, headers=self._headers)
        return Response(self._content, headers=self._headers)
