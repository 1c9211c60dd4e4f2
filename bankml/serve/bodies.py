"""JSON in: a body of bounded size with a bounded number of texts, decoded into a typed struct or refused."""

import asyncio
import json
from typing import Any, TypeVar

import msgspec
from starlette.requests import ClientDisconnect, Request

from bankml.serve.errors import CANCELED, INPUT_TYPE, RefusedError
from bankml.serve.limits import MIB, Limits
from bankml.serve.state import state
from bankml.serve.syntax import go_words
from bankml.utf8 import whole

T = TypeVar("T")


class Key(str):
    """A key of a body in lower case: equal ones take each other's place while they are read, so the last counts."""


TOO_LARGE = "the request body is larger than {:g} MiB; send fewer or shorter texts in one request"


async def read(request: Request, kind: type[T]) -> T:
    """The body as a `kind`, whose fields are named in lower case; as in Go, keys have any case and the last one counts.

    Raises FullError when the bodies of all requests take too much, and RefusedError: 400 when it is missing, not JSON
    or of wrong types, 408 when it stopped coming, 413 too large, 415 compressed.
    """
    body = await _bytes(request)
    if not body.strip():
        raise RefusedError(400, "missing request body")
    try:
        return _decode(body, kind)
    except msgspec.ValidationError as error:
        raise RefusedError(400, f"invalid request: {error}") from None
    except (ValueError, RecursionError) as error:
        raise RefusedError(400, go_words(error, body)) from None


def listed(value: Any, most: int) -> list[str]:
    """The texts of an `input`, which is one or a list of `most` of them at most.

    Raises RefusedError with Ollama's words for anything else, and for more texts than one request may hold.
    """
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list):
        raise RefusedError(400, INPUT_TYPE)
    for index, text in enumerate(texts):
        if not isinstance(text, str):
            raise RefusedError(400, INPUT_TYPE, index)
    if len(texts) > most:
        raise RefusedError(
            400,
            f"the request has {len(texts):,} texts, above the limit of {most:,}; send them in several requests",
        )
    return texts


async def _bytes(request: Request) -> bytes:
    if (coding := request.headers.get("content-encoding", "")).lower() not in ("", "identity"):
        raise RefusedError(415, f"the body has the Content-Encoding {coding!r}; send it uncompressed")
    ledger = state(request).ledger
    limits = ledger.limits
    announced = request.headers.get("content-length", "0")
    if announced.isdecimal() and int(announced) > limits.max_body_bytes:
        raise _too_large(limits)
    body = bytearray()
    clock = asyncio.get_running_loop().time
    end = clock() + limits.max_body_seconds
    try:
        async with asyncio.timeout(limits.max_silence_seconds) as patience:
            async for chunk in request.stream():
                patience.reschedule(min(clock() + limits.max_silence_seconds, end))
                body += chunk
                ledger.take_bytes(request.scope, len(body))
                if len(body) > limits.max_body_bytes:
                    raise _too_large(limits)
    except TimeoutError:
        raise RefusedError(408, slow(limits, over=clock() >= end)) from None
    except ClientDisconnect:
        raise RefusedError(499, CANCELED) from None  # nobody reads it, and it is no fault to log
    return bytes(body)


def _too_large(limits: Limits) -> RefusedError:
    return RefusedError(413, TOO_LARGE.format(limits.max_body_bytes / MIB))


def slow(limits: Limits, over: bool) -> str:
    """What is said of a body that took too long; `over`: in all, not in one silence."""
    if over:
        return f"the body had not come whole after {limits.max_body_seconds:g} s; send fewer texts in one request"
    return f"no byte of the body came for {limits.max_silence_seconds:g} s; send it without pauses"


def _decode(body: bytes, kind: type[T]) -> T:
    try:
        return _folded(body, kind)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError as error:
        if not (characters := _whole_characters(body)):
            raise error from None
        return _folded(characters, kind)


def _folded(body: bytes, kind: type[T]) -> T:
    fields = msgspec.json.decode(body, type=dict[Key, msgspec.Raw], dec_hook=_key)
    return msgspec.json.decode(msgspec.json.encode(fields), type=kind)


def _key(kind: type, key: Any) -> Key:
    return Key(key.casefold())


def _ordered(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of these pairs, each key where it stands last."""
    fields: dict[str, Any] = {}
    for key, value in pairs:
        fields.pop(key, None)
        fields[key] = value
    return fields


def _whole_characters(body: bytes) -> bytes | None:
    """The same JSON with every lone surrogate and every invalid byte as U+FFFD, which is how Go reads them.

    None when it is no JSON.
    """
    try:
        value = json.loads(body.decode("utf-8", "replace"), object_pairs_hook=_ordered)
        return str(whole(json.dumps(value, ensure_ascii=False, allow_nan=False))).encode()
    except ValueError:
        return None
