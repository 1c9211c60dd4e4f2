"""JSON in: a body of bounded size, decoded into a typed struct or refused."""

import json
from typing import TypeVar

import msgspec
from starlette.requests import Request

from bankml.serve.errors import RefusedError

T = TypeVar("T")

LIMIT = 16 * 2**20  # bytes; 5,000 passages of 3 kB
TOO_LARGE = "the request body is larger than 16 MiB; send fewer or shorter texts in one request"


async def read(request: Request, kind: type[T]) -> T:
    """The body as a `kind`. Raises RefusedError: 400 when it is missing, not JSON or of wrong types, 413 too large."""
    body = await _bytes(request)
    if not body.strip():
        raise RefusedError(400, "missing request body")
    try:
        return _decode(body, kind)
    except msgspec.ValidationError as error:
        raise RefusedError(400, f"invalid request: {error}") from None
    except (ValueError, RecursionError) as error:
        raise RefusedError(400, f"the request body is not valid JSON: {error}") from None


async def _bytes(request: Request) -> bytes:
    announced = request.headers.get("content-length", "0")
    if announced.isdigit() and int(announced) > LIMIT:
        raise RefusedError(413, TOO_LARGE)
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > LIMIT:
            raise RefusedError(413, TOO_LARGE)
    return bytes(body)


def _decode(body: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError:
        raise
    except (msgspec.DecodeError, UnicodeDecodeError):
        return msgspec.json.decode(_whole_characters(body), type=kind)


def _whole_characters(body: bytes) -> str:
    """The same JSON with every lone surrogate and every invalid byte as U+FFFD, which is how Go reads them."""
    value = json.loads(body.decode("utf-8", "replace"))
    text = json.dumps(value, ensure_ascii=False)
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
