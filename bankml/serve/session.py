"""One browser's way in to what only its user may read: a token that opens once, and what it is exchanged for."""

import hmac
import secrets
from hashlib import sha256
from typing import NamedTuple

BYTES = 32  # of randomness in each secret


class Pass(NamedTuple):
    """What a browser shows with each request.

    Browsers send a cookie to every port of a host, so that another user's server here could be sent it; what a page
    stores belongs to its port, but the page's scripts can read it. Neither is enough.
    """

    cookie: str
    proof: str


class Session:
    """Belongs to one event loop. All secrets are new with each server, and end with it."""

    def __init__(self) -> None:
        self.token = secrets.token_urlsafe(BYTES)
        self._token = _digest(self.token)
        self._pass = _nobodys()

    def exchange(self, token: str) -> Pass | None:
        """The pass for whoever shows the token first; None for any other, and for everybody after that."""
        if not hmac.compare_digest(self._token, _digest(token)):
            return None
        found = Pass(secrets.token_urlsafe(BYTES), secrets.token_urlsafe(BYTES))
        self._token, self._pass = _nobodys(), _digest(*found)
        return found

    def holds(self, cookie: str, proof: str) -> bool:
        """Whether this is the pass that the token was exchanged for; digests are compared, in constant time."""
        return hmac.compare_digest(self._pass, _digest(cookie, proof))


def cookie_name(port: int | None) -> str:
    """Of the server at this port: two servers of one host do not take each other's place."""
    return f"bankml-{port}" if port else "bankml"


def _digest(*secrets: str) -> bytes:
    return sha256(" ".join(secrets).encode("utf-8", "surrogatepass")).digest()


def _nobodys() -> bytes:
    return secrets.token_bytes(32)
