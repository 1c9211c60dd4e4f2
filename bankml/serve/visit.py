"""One request and what became of it: what is logged and counted is read from here. It holds no text and no key."""

import re
import secrets
import time
from collections.abc import MutableMapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from bankml.encoder import Encoded

GIVEN_ID = re.compile(rb"[A-Za-z0-9._-]{1,128}")
MOST_PATH = 256  # characters of a path that are kept

Scope = MutableMapping[str, Any]


@dataclass(slots=True)
class Visit:
    """`seconds` and `status` are 0 until the answer has begun; `model`, `texts`, `tokens` are what was embedded."""

    id: str = field(default_factory=lambda: secrets.token_hex(8))
    client: str = "-"
    method: str = ""
    path: str = ""  # percent-encoded, without the query
    began: float = field(default_factory=time.time)  # seconds since the epoch
    status: int = 0
    received: int = 0  # bytes of the body
    sent: int = 0
    seconds: float = 0.0
    failure: str | None = None  # failures.kind
    model: str | None = None
    texts: int | None = None
    tokens: int | None = None
    truncated: int = 0

    @classmethod
    def of(cls, scope: Scope) -> "Visit":
        """The visit that an ASGI scope begins."""
        client = scope.get("client")
        visit = cls(
            client=client[0] if client else "-",
            method=scope["method"],
            path=quote(scope["path"][:MOST_PATH], safe="/:@", errors="replace"),
        )
        given = next((value for name, value in scope["headers"] if name == b"x-request-id"), b"")
        if GIVEN_ID.fullmatch(given):
            visit.id = given.decode()
        return visit

    def embedded(self, model: str, encoded: Encoded) -> None:
        """What came of the texts of the request."""
        self.model = model
        self.texts = (self.texts or 0) + len(encoded.tokens)
        self.tokens = (self.tokens or 0) + int(encoded.tokens.sum())
        self.truncated += int(encoded.truncated.sum())


def visit(scope: Scope) -> Visit:
    """The visit of this scope; without a Recorder around the application one that nobody reads."""
    found: Visit = scope.setdefault("visit", Visit())
    return found
