"""Which web pages may read the answers: none, unless the person who starts the server names them."""

import re
from collections.abc import Sequence

from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware

from bankml.errors import InputError

ANY = "*"
READABLE = ["X-Bankml-Truncated", "X-Request-Id", "Retry-After", "WWW-Authenticate"]
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^/?#\s@*,]+")


def checked(origin: str) -> str:
    """`*`, or an origin as browsers write it: scheme and host in lower case, a port where it is not the scheme's own.

    Raises InputError for anything else, `null` too: every sandboxed page and every local file has that one.
    """
    name = origin.strip().lower().removesuffix("/")
    if name != ANY and not _ORIGIN.fullmatch(name):
        raise InputError(
            f"{origin!r} is no origin; give one such as https://app.example or http://localhost:3000, or *"
        )
    for scheme, port in (("http", ":80"), ("https", ":443")):
        if name.startswith(f"{scheme}://"):
            name = name.removesuffix(port)
    return name


def cors(origins: Sequence[str]) -> list[Middleware]:
    """What tells browsers that pages of these origins may ask and read; nothing for no origin."""
    if not origins:
        return []
    return [
        Middleware(
            CORSMiddleware, allow_origins=origins, allow_methods=["*"], allow_headers=["*"], expose_headers=READABLE
        )
    ]
