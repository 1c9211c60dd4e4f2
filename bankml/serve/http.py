"""uvicorn as this server runs it: its connections, its signals, its log."""

import asyncio
import contextlib
import os
import signal
import socket
import ssl
from collections.abc import Callable, Iterator
from threading import Event
from types import FrameType

import uvicorn
from starlette.types import ASGIApp

from bankml.errors import InputError
from bankml.serve import connections, tracebacks
from bankml.serve.connection import HEAD, IDLE, Connection
from bankml.serve.handshakes import Door
from bankml.serve.listener import BACKLOG

GRACE = 10  # seconds that requests in flight get at the end


class Http(uvicorn.Server):
    """Answers with `app` at a listener; `ready` is called when connections are accepted, `ending` set by a signal.

    `most` connections may be open.
    """

    def __init__(
        self, app: ASGIApp, tls: ssl.SSLContext | None, ready: Callable[[], None], ending: Event, most: int
    ) -> None:
        super().__init__(_config(app))
        self._most = most
        self._tls = tls
        self._ready = ready
        self._ending = ending

    async def answer(self, listener: socket.socket) -> None:
        """Serve until SIGINT or SIGTERM; a second one ends the process at once."""
        connections.raise_limit()
        tracebacks.keep_words_out()
        asyncio.get_running_loop().set_exception_handler(tracebacks.Teller())
        with _signals_end_it():
            await self.serve(sockets=[listener])

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """As uvicorn's, with a room for the connections and an end to TLS handshakes."""
        await self.lifespan.startup()
        room = connections.Room(self._most)
        self.servers = [
            await _serve(
                lambda: Connection(self.config, self.server_state, {}, room),
                Door(listener, room.handshakes) if self._tls else listener,
                self._tls,
            )
            for listener in sockets or []
        ]
        self.started = True
        self._ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """The first signal ends the server, the second the process."""
        self._ending.set()
        if self.should_exit:
            signal.signal(sig, signal.SIG_DFL)
            signal.raise_signal(sig)
        super().handle_exit(sig, frame)


def _config(app: ASGIApp) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        ws="none",
        workers=1,  # else read from WEB_CONCURRENCY
        proxy_headers=False,  # a client's X-Forwarded-For is no fact
        log_level="warning",
        access_log=False,
        server_header=False,
        lifespan="off",
        timeout_keep_alive=IDLE,
        timeout_graceful_shutdown=GRACE,
    )


async def _serve(
    connection: Callable[[], Connection], listener: socket.socket, tls: ssl.SSLContext | None
) -> asyncio.Server:
    loop = asyncio.get_running_loop()
    patience = HEAD if tls else None
    try:
        server = await loop.create_server(
            connection, sock=listener, ssl=tls, backlog=connections.at_once(), ssl_handshake_timeout=patience
        )
        listener.listen(BACKLOG)  # for asyncio the backlog and what is accepted at once are one number
    except OSError as error:  # two servers can bind one port, one of them can listen
        address = ":".join(map(str, listener.getsockname()[:2]))
        reason = os.strerror(error.errno or 0)
        raise InputError(f"{address} cannot be listened on ({reason}); stop the other server") from None
    return server


@contextlib.contextmanager
def _signals_end_it() -> Iterator[None]:
    """uvicorn raises the signal that ended it once more when it is done; by then it has been obeyed."""
    before = {number: signal.signal(number, _obeyed) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _obeyed(number: int, frame: object) -> None:
    pass
