"""JSON in: a body of bounded size with a bounded number of texts, decoded into a typed struct or refused."""

import json
from typing import TypeVar

import msgspec
from starlette.requests import ClientDisconnect, Request

from bankml.serve.errors import CANCELED, RefusedError
from bankml.utf8 import whole

T = TypeVar("T")

LIMIT = 16 * 2**20  # bytes; 5,000 passages of 3 kB
MAX_TEXTS = 10_000  # of 1,024 dimensions: 41 MB of vectors, some 120 MB of JSON
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


def check_count(texts: list[str]) -> None:
    """Raises RefusedError for more texts than one request may hold."""
    if len(texts) > MAX_TEXTS:
        raise RefusedError(
            400,
            f"the request has {len(texts):,} texts, above the limit of {MAX_TEXTS:,}; send them in several requests",
        )


async def _bytes(request: Request) -> bytes:
    announced = request.headers.get("content-length", "0")
    if announced.isdigit() and int(announced) > LIMIT:
        raise RefusedError(413, TOO_LARGE)
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > LIMIT:
                raise RefusedError(413, TOO_LARGE)
    except ClientDisconnect:
        raise RefusedError(499, CANCELED) from None  # nobody reads it, and it is no fault to log
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
    return str(whole(json.dumps(value, ensure_ascii=False)))
