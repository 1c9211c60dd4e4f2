"""What the requests in flight hold together, and the refusal of one more when that is too much."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from starlette.types import ASGIApp, Receive, Scope, Send

from bankml.serve.errors import FullError
from bankml.serve.limits import Limits

LONGEST_WAIT = 60  # seconds that a refused client is told to wait at most


@dataclass(slots=True)
class Held:
    """What one request holds until its answer is written."""

    requests: int = 0
    tokens: int = 0
    bytes: int = 0


@dataclass
class Ledger:
    """Counts of all requests in flight. Belongs to one event loop."""

    limits: Limits = field(default_factory=Limits)
    held: Held = field(default_factory=Held)
    clock: Callable[[], float] = time.monotonic
    _answered_at: float = 0.0
    _seconds_between_answers: float = 1.0  # lately, while others were in flight

    @property
    def full(self) -> bool:
        """Whether the next request would be refused."""
        return (
            self.held.requests >= self.limits.max_queue_requests
            or self.held.tokens >= self.limits.max_queue_tokens
            or self.held.bytes >= self.limits.max_bodies_bytes
        )

    def admit(self, scope: Scope) -> None:
        """Count a request that wants to be worked on; once however often it is asked. Raises FullError."""
        if held(scope).requests:
            return
        if self.held.requests >= self.limits.max_queue_requests:
            raise self.refusal()
        self._add(scope, requests=1)

    def take_tokens(self, scope: Scope, count: int) -> None:
        """Count the tokens of a request, once however often asked; one is served however long. Raises FullError."""
        mine = held(scope).tokens
        others = self.held.tokens - mine
        if others and others + count > self.limits.max_queue_tokens:
            raise self.refusal()
        self._add(scope, tokens=max(count - mine, 0))

    def take_bytes(self, scope: Scope, count: int) -> None:
        """Count that `count` bytes of a body are read; once however often it is read. Raises FullError."""
        more = max(0, count - held(scope).bytes)
        if self.held.bytes + more > self.limits.max_bodies_bytes:
            raise self.refusal()
        self._add(scope, bytes=more)

    def release(self, scope: Scope) -> None:
        """Forget a request whose answer was written or will never be."""
        mine = held(scope)
        if mine.requests:
            self._answered()
        self._add(scope, -mine.requests, -mine.tokens, -mine.bytes)

    def refusal(self) -> FullError:
        """Too much is in flight: come back when one more request will have been answered."""
        return FullError(round(min(max(self._seconds_between_answers, 1), LONGEST_WAIT)))

    def _answered(self) -> None:
        now = self.clock()
        if self.held.requests > 1 and self._answered_at:
            self._seconds_between_answers += (now - self._answered_at - self._seconds_between_answers) / 8
        self._answered_at = now if self.held.requests > 1 else 0.0

    def _add(self, scope: Scope, requests: int = 0, tokens: int = 0, bytes: int = 0) -> None:
        for total in (self.held, held(scope)):
            total.requests += requests
            total.tokens += tokens
            total.bytes += bytes


class Accounts:
    """ASGI middleware: what a request held is released when its answer was written or nobody wants it any more."""

    def __init__(self, app: ASGIApp, ledger: Ledger) -> None:
        self._app = app
        self._ledger = ledger

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["bankml.ledger"] = self._ledger
        try:
            await self._app(scope, receive, send)
        finally:
            self._ledger.release(scope)


def ledger(scope: Scope) -> Ledger:
    """The ledger of the server that got the request of this scope."""
    found = scope["bankml.ledger"]
    assert isinstance(found, Ledger)
    return found


def held(scope: Scope) -> Held:
    """What the request of this scope holds."""
    mine = scope.setdefault("bankml.held", Held())
    assert isinstance(mine, Held)
    return mine
