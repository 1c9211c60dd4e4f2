"""Around every request: its id, its times, its counts, its line in the log."""

import time
from collections.abc import Callable

from starlette.requests import Request
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bankml.serve.errors import refuse
from bankml.serve.failures import OTHER, STATUSES
from bankml.serve.metrics import Metrics
from bankml.serve.visit import Visit

GONE = 499  # nginx's word for a client that left before its answer


class Recorder:
    """ASGI middleware, the outermost: what stands inside answers, and this writes down how.

    `log` is called with each visit when it is over; it must not raise and not wait.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics, log: Callable[[Visit], None] | None = None) -> None:
        self._app, self._metrics, self._log = app, metrics, log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        visit = scope["visit"] = Visit.of(scope)
        timed = _Timed(visit, receive, send, self._metrics)
        try:
            await self._app(scope, timed.receive, timed.send)
        except Exception as error:
            if not visit.status:  # Starlette's own answer would pass by this middleware
                await refuse(Request(scope), error)(scope, receive, timed.send)
            visit.failure = "internal"
            raise
        finally:
            visit.seconds = time.perf_counter() - timed.started
            self._write_down(scope, visit)

    def _write_down(self, scope: Scope, visit: Visit) -> None:
        visit.status = visit.status or GONE
        self._metrics.request(_template(scope), visit.method, visit.status, visit.seconds)
        self._metrics.bodies(visit.received, visit.sent)
        if visit.status >= 400:
            self._metrics.failed(visit.failure or STATUSES.get(visit.status, OTHER))
        if visit.truncated:
            self._metrics.truncated(visit.truncated)
        if visit.texts:
            self._metrics.recent.add(visit.seconds)
        if self._log:
            self._log(visit)


class _Timed:
    """The two channels of a request, with what passes through them written into its visit."""

    def __init__(self, visit: Visit, receive: Receive, send: Send, metrics: Metrics) -> None:
        self._visit, self._receive, self._send, self._metrics = visit, receive, send, metrics
        self.started = time.perf_counter()
        self._asked: float | None = None
        self._read = False
        self._answered = 0.0

    async def receive(self) -> Message:
        self._asked = self._asked or time.perf_counter()
        message = await self._receive()
        if message["type"] == "http.request":
            self._visit.received += len(message.get("body", b""))
            if not message.get("more_body") and not self._read:
                self._read = True
                self._metrics.stage("read", time.perf_counter() - self._asked)
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._answered = time.perf_counter()
            self._visit.status = message["status"]
            message["headers"] = [*message.get("headers", ()), (b"x-request-id", self._visit.id.encode())]
        self._visit.sent += len(message.get("body", b""))
        await self._send(message)
        if message["type"] == "http.response.body" and not message.get("more_body"):
            self._metrics.stage("write", time.perf_counter() - self._answered)


def _template(scope: Scope) -> str:
    """The path of the route that answered, with its parameters' names: bounded, whatever clients ask for."""
    endpoint = scope.get("endpoint")
    routes = scope["app"].routes if endpoint and "app" in scope else ()
    for route in routes:
        if isinstance(route, Route) and route.endpoint is endpoint and route.matches(scope)[0] is not Match.NONE:
            return route.path_format
    return OTHER
