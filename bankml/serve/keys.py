"""API keys: who has one may ask for everything, who has none for what tells nothing."""

import hmac
import re
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from bankml.errors import InputError
from bankml.serve.entrance import ADMITTED
from bankml.serve.errors import RefusedError, refuse

# Ollama's sentence and the probes, which programs ask for before they have a key, and pages that ask for theirs.
OPEN = frozenset({"/", "/health/live", "/health/ready", "/docs", "/ui"})
LARGEST_FILE = 2**16  # bytes
_KEY = re.compile(r"[!-~]+")  # what any HTTP client can send
_BEARER = re.compile(rb"bearer +(.*)", re.IGNORECASE)
MISSING = "this server asks for a key: send the header Authorization: Bearer KEY"
WRONG = "the key is not one of this server's; send the header Authorization: Bearer KEY"


class Keys:
    """ASGI middleware: a request without one of `keys` is 401, but for the paths that are open."""

    def __init__(self, app: ASGIApp, keys: Iterable[str]) -> None:
        self._app = app
        self._digests = [_digest(key.encode()) for key in keys]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or _open(scope) or self._holds(sent := _sent(scope)):
            await self._app(scope, receive, send)
        else:
            refusal = RefusedError(401, WRONG if any(sent) else MISSING)
            await refuse(Request(scope), refusal)(scope, receive, send)

    def _holds(self, sent: list[bytes]) -> bool:
        """Every key is compared, and digests of one length, so that the time tells nothing."""
        digests = [_digest(key) for key in sent]
        return sum(hmac.compare_digest(digest, known) for digest in digests for known in self._digests) > 0


def _open(scope: Scope) -> bool:
    return scope["path"] in OPEN or scope.get(ADMITTED, False)


def read(variable: str | None, file: Path | None) -> tuple[str, ...]:
    """The keys of BANKML_API_KEY and of the lines of a file, none when there is neither.

    Raises InputError, which never quotes a key, for a file that holds none and for a key that no client can send.
    """
    keys = [] if variable is None else [_checked(variable, "BANKML_API_KEY")]
    if file is not None:
        keys += _lines(file)
    return tuple(dict.fromkeys(keys))


def _lines(file: Path) -> list[str]:
    with file.open("rb") as stream:
        data = stream.read(LARGEST_FILE + 1)
    if len(data) > LARGEST_FILE:
        raise InputError(f"{file} has more than {LARGEST_FILE:,} bytes; give a file with one key a line")
    keys = [line.strip() for line in data.decode("utf-8", "replace").splitlines() if line.strip()]
    if not keys:
        raise InputError(f"{file} holds no key; write one a line into it")
    return [_checked(key, str(file)) for key in keys]


def _checked(key: str, source: str) -> str:
    if not _KEY.fullmatch(key):
        raise InputError(f"{source} holds a key with a space or a character that is not ASCII; use letters and digits")
    return key


def _sent(scope: Scope) -> list[bytes]:
    """The keys that a request carries."""
    found = []
    for name, value in scope["headers"]:
        if name == b"x-api-key":
            found.append(value.strip())
        elif name == b"authorization" and (match := _BEARER.fullmatch(value.strip())):
            found.append(match[1])
    return found


def _digest(key: bytes) -> bytes:
    return sha256(key).digest()
