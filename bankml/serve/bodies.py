"""JSON in: a body of bounded size with a bounded number of texts, decoded into a typed struct or refused."""

import asyncio
import re
from os.path import commonpath
from typing import Any, TypeVar

import msgspec
from starlette.requests import ClientDisconnect, Request

from bankml.serve.errors import CANCELED, INPUT_TYPE, RefusedError
from bankml.serve.ledger import ledger
from bankml.serve.limits import MIB, Limits
from bankml.serve.syntax import go_words

T = TypeVar("T", bound=msgspec.Struct)


class Key(str):
    """A key of a body in lower case: equal ones take each other's place while they are read, so the last counts."""


# Only texts may be long, and nothing else of a body becomes Python objects by the million: 16 MiB of "[],[],…" took the
# event loop 4 s and 430 MB.
NULL = b"null"
LONG = ("input", "prompt", "documents")
MOST_FIELD = 64 * 1024  # bytes of any other field
MOST_KEYS = 1000
_ELEMENT = re.compile(r"\$\[(\d+)\]")
# An escape behind an even number of backslashes.
_LONE_HIGH = re.compile(r"((?<!\\)(?:\\\\)*)\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F][0-9a-fA-F]{2})")
_LONE_LOW = re.compile(r"((?<!\\)(?<!\\u[dD][89abAB][0-9a-fA-F]{2})(?:\\\\)*)\\u[dD][c-fC-F][0-9a-fA-F]{2}")
TOO_LARGE = "the request body is larger than {:g} MiB; send fewer or shorter texts in one request"


async def read(request: Request, kind: type[T]) -> T:
    """The body as a `kind`, whose fields are named in lower case; as in Go, keys have any case and the last one counts.

    Raises FullError when the bodies of all requests take too much, and RefusedError: 400 when it is missing, not JSON
    or of wrong types, 408 when it stopped coming, 413 too large, 415 compressed.
    """
    body = await _bytes(request)
    if not body.strip():
        raise RefusedError(400, "missing request body")
    text = body if _is_utf8(body) else _whole_characters(body)  # msgspec does not look at bytes that it leaves raw
    try:
        return _decode(text, kind)
    except msgspec.ValidationError as error:
        raise RefusedError(400, f"invalid request: {error}") from None
    except (ValueError, RecursionError) as error:
        raise RefusedError(400, go_words(error, _as_sent(body, text))) from None


def listed(value: msgspec.Raw, most: int) -> list[str]:
    """The texts of an `input`, which is one or a list of `most` of them at most.

    Raises RefusedError with Ollama's words for anything else, and for more texts than one request may hold.
    """
    try:
        found = msgspec.json.decode(value, type=str | list[str])
    except msgspec.ValidationError as error:  # it ends at the first that is no text, whatever comes behind
        place = _ELEMENT.search(str(error))
        raise RefusedError(400, INPUT_TYPE, int(place[1]) if place else None) from None
    texts = [found] if isinstance(found, str) else found
    if len(texts) > most:
        raise RefusedError(
            400,
            f"the request has {len(texts):,} texts, above the limit of {most:,}; send them in several requests",
        )
    return texts


async def _bytes(request: Request) -> bytes:
    if (coding := request.headers.get("content-encoding", "")).lower() not in ("", "identity"):
        raise RefusedError(415, f"the body has the Content-Encoding {coding!r}; send it uncompressed")
    accounts = ledger(request.scope)
    limits = accounts.limits
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
                accounts.take_bytes(request.scope, len(body))
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
        try:
            return _folded(_whole_characters(body), kind)
        except msgspec.ValidationError:
            raise
        except msgspec.DecodeError:
            raise error from None


def _folded(body: bytes, kind: type[T]) -> T:
    left = iter(range(MOST_KEYS))

    def key(_: type, name: Any) -> Key:
        if next(left, None) is None:
            raise ValueError(f"the body has more than {MOST_KEYS:,} keys")
        return Key(name.casefold())

    fields = msgspec.json.decode(body, type=dict[Key, msgspec.Raw], dec_hook=key)
    for field in msgspec.structs.fields(kind):
        if field.encode_name not in LONG and len(bytes(fields.get(Key(field.encode_name), b""))) > MOST_FIELD:
            raise RefusedError(400, f"the field {field.encode_name!r} is larger than {MOST_FIELD // 1024} KiB")
    return msgspec.json.decode(msgspec.json.encode(fields), type=kind)


def _is_utf8(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


def _as_sent(body: bytes, text: bytes) -> bytes:
    """`text`, in which faults have their places, with the first byte as it was sent that is not in it."""
    same = len(commonpath([body, text]))
    return text if body == text else text[:same] + body[same : same + 1] + text[same + 1 :]


def _whole_characters(body: bytes) -> bytes:
    """The same JSON with every lone surrogate and every invalid byte as U+FFFD, which is how Go reads them."""
    text = _LONE_HIGH.sub(r"\1\\ufffd", body.decode("utf-8", "replace"))
    return _LONE_LOW.sub(r"\1\\ufffd", text).encode()
