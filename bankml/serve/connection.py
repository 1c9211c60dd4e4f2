"""One connection: uvicorn's HTTP/1.1 with bounds on the size of a head and on every wait, and refusals in JSON."""

import asyncio
import contextlib
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

import h11
import orjson
from uvicorn import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from bankml.serve.connections import Room

HEAD_BYTES = 64 * 2**10
HEAD = 10.0  # seconds from the first byte of a request to the last of its head
IDLE = 75  # seconds without a request; clients keep a pool of connections
REST = 30.0  # seconds for the rest of a body whose request is answered already
STALL = 60.0  # seconds in which a client takes nothing of its answer; the system takes by the MB, so 22 kB/s are needed
LINGER = 1.0  # seconds after a refusal in which the client may still send: to close at once would reset what it reads

TOO_LARGE = f"the head of the request is larger than {HEAD_BYTES // 2**10} KiB; send fewer or shorter headers"
TOO_SLOW = f"the head of the request was not complete after {HEAD:g} s; send it without pauses"
TOO_MANY = "the server has as many connections as it can hold; try again later"


class _Requests(h11.Connection):
    """h11's parser with a bound on heads that come at once too, and the fault of what it could not read."""

    fault: h11.RemoteProtocolError

    def next_event(self) -> Any:
        try:
            event = super().next_event()
            if isinstance(event, h11.Request):
                _check(event)
            return event
        except h11.RemoteProtocolError as error:
            self.fault = error
            raise


class Connection(H11Protocol):
    """`room`: what all connections share. One timer runs while the client owes a request, its head or its body."""

    conn: _Requests

    def __init__(self, config: Config, server_state: ServerState, app_state: dict[str, Any], room: Room) -> None:
        super().__init__(config, server_state, app_state)
        self.conn = _Requests(h11.SERVER, HEAD_BYTES)
        self._room = room
        self._owed: Callable[[], None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._stall: asyncio.TimerHandle | None = None
        self._refused = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._room.handshakes.done(transport.get_extra_info("socket").fileno())
        transport.set_write_buffer_limits(high=1, low=0)  # pause_writing tells of nearly every byte that is not taken
        if self._room.take(len(self.connections)):
            self._watch()
        elif len(self.connections) <= self._room.most * 17 // 16:
            self._refuse(503, TOO_MANY)
        else:
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._unset_keepalive_if_required()
        self._room.leave(self)
        for timer in (self._timer, self._stall):
            if timer:
                timer.cancel()

    def data_received(self, data: bytes) -> None:
        if not self._refused:
            super().data_received(data)

    def handle_events(self) -> None:
        super().handle_events()
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def shutdown(self) -> None:
        if self._refused:
            self.transport.close()
        else:
            super().shutdown()

    def make_way(self) -> None:
        """Close at once, for another connection's sake."""
        self.transport.abort()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._expect_progress()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._stall:
            self._stall.cancel()

    def send_400_response(self, msg: str) -> None:
        """What uvicorn calls when the client's bytes are no HTTP."""
        fault = self.conn.fault
        too_large = fault.error_status_hint == 431
        self._refuse(431 if too_large else 400, TOO_LARGE if too_large else _no_http(fault))

    def _should_upgrade(self) -> bool:
        return False

    def _watch(self) -> None:
        """Start the timer of what the client owes now, unless it runs."""
        if self._refused:
            return
        late, seconds = self._debt()
        if late == self._owed:
            return
        self._owed = late
        if self._timer:
            self._timer.cancel()
        self._timer = self.loop.call_later(seconds, late) if late else None
        if late in (self._idle, self._slow_head):
            self._room.wait(self, stranger=self.cycle is None)
        else:
            self._room.leave(self)

    def _debt(self) -> tuple[Callable[[], None] | None, float]:
        """What happens when the client goes on owing what it owes, and after how many seconds."""
        if self.conn.their_state is h11.IDLE:
            return (self._slow_head, HEAD) if self.conn.trailing_data[0] else (self._idle, IDLE)
        if self.conn.their_state is h11.SEND_BODY and self.cycle.response_complete:
            return self._slow_rest, REST
        return None, 0

    def _idle(self) -> None:
        self.transport.close()

    def _slow_head(self) -> None:
        self._refuse(408, TOO_SLOW)

    def _slow_rest(self) -> None:
        self.transport.close()

    def _expect_progress(self) -> None:
        left = self.transport.get_write_buffer_size()
        self._stall = self.loop.call_later(STALL, self._progress, left)

    def _progress(self, before: int) -> None:
        if self.transport.get_write_buffer_size() < before:
            self._expect_progress()
        else:
            self.transport.abort()

    def _refuse(self, status: int, sentence: str) -> None:
        """Answer what no route sees, unless an answer is under way, and close."""
        self._unset_keepalive_if_required()
        self._refused = True
        if self._timer:
            self._timer.cancel()
        if self.cycle and not self.cycle.response_complete:  # the application need not go on
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.conn.our_state is h11.SEND_BODY:
            self.transport.abort()
        else:
            self._part(_answer(status, sentence) if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE) else b"")

    def _part(self, words: bytes) -> None:
        self.transport.write(words)
        self.flow.resume_reading()
        with contextlib.suppress(OSError):  # the client has reset the connection
            if self.transport.can_write_eof():
                self.transport.write_eof()
        self._timer = self.loop.call_later(LINGER, self.transport.close)


def _no_http(fault: h11.RemoteProtocolError) -> str:
    words, _, quoted = str(fault).partition(": bytearray")
    if quoted.startswith("(b'\\x16\\x03"):
        return "this is TLS, and this port speaks http: use http:// in the URL, or give the server --tls-cert"
    return f"this is no HTTP: {words[:200]}"


def _check(request: h11.Request) -> None:
    """Raises RemoteProtocolError for what h11 lets pass."""
    if _size(request) > HEAD_BYTES:
        raise h11.RemoteProtocolError(TOO_LARGE, error_status_hint=431)
    if request.http_version not in (b"1.0", b"1.1"):
        raise h11.RemoteProtocolError("its version is neither 1.0 nor 1.1")
    names = {name for name, _ in request.headers}
    if {b"content-length", b"transfer-encoding"} <= names:  # a proxy in front may believe the other one
        raise h11.RemoteProtocolError("it has both a Content-Length and a Transfer-Encoding")


def _size(request: h11.Request) -> int:
    lines = (len(name) + len(value) + 4 for name, value in request.headers.raw_items())
    return len(request.method) + len(request.target) + 12 + sum(lines)


def _answer(status: int, sentence: str) -> bytes:
    body = orjson.dumps({"error": sentence})
    head = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\nConnection: close\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
