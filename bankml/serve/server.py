"""The process: a socket, the served model, uvicorn, and a clean end."""

import asyncio
import contextlib
import errno
import logging
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from threading import Event
from types import FrameType
from typing import TYPE_CHECKING

import uvicorn

from bankml.errors import InputError
from bankml.models import Choice
from bankml.serve import allocator
from bankml.serve.access_log import access_log
from bankml.serve.app import create_app
from bankml.serve.engines import Engines
from bankml.serve.guard import is_loopback
from bankml.serve.ledger import Ledger
from bankml.serve.limits import Limits
from bankml.serve.lines import Lines
from bankml.serve.names import Names
from bankml.serve.room import Room
from bankml.serve.state import State
from bankml.serve.workers import Workers
from bankml.settings import Settings

if TYPE_CHECKING:
    from bankml.serve.upstream import Upstream

GRACE = 5  # seconds that requests in flight get at the end
IDLE = 75  # seconds an idle connection stays open; clients keep a pool of them


class Served:
    """A server of one model by default, and of every other model on this machine by name.

    `keep_alive` in nanoseconds, else BANKML_KEEP_ALIVE's. `forward`: the URL of the Ollama that gets what bankml does
    not answer.
    """

    def __init__(
        self,
        choice: Choice,
        threads: int | None = None,
        backend: str | None = None,
        keep_alive: int | None = None,
        forward: str | None = None,
        limits: Limits | None = None,
        log: str | None = None,
    ) -> None:
        self.choice = choice
        self._forward = forward
        self._log = log
        settings = Settings.read()
        keep = settings.keep_alive if keep_alive is None else keep_alive
        room = Room(threads or settings.threads, settings.embed_need)
        engines = Engines(keep, threads, backend, room)
        self._state = State(Names(choice), engines, Workers(), Ledger(limits or Limits()))

    def run(self, listener: socket.socket, host: str, ready: Callable[[], None]) -> None:
        """Serve until SIGINT or SIGTERM; `ready` is called when the model is loaded and connections are accepted."""
        allocator.give_back_at_once()
        lines = Lines(sys.stderr.fileno(), self._state.metrics.lost_lines)
        with lines, contextlib.redirect_stderr(lines):
            asyncio.run(self._run(listener, host, ready))

    async def _run(self, listener: socket.socket, host: str, ready: Callable[[], None]) -> None:
        async with self._state.engines.hold(self.choice) as loaded:
            self._state.names.add(str(loaded.encoder.metadata.get("general.name", self.choice.name)))
            self._state.metrics.runs_on(loaded.encoder.backend)
        upstream = _upstream(self._forward) if self._forward else None
        log = access_log(sys.stderr, self._log) if self._log else None
        config = uvicorn.Config(
            create_app(self._state, is_loopback(host), upstream, log),
            log_level="warning",
            access_log=False,
            server_header=False,
            lifespan="off",
            timeout_keep_alive=IDLE,
            timeout_graceful_shutdown=GRACE,
        )
        logging.getLogger("uvicorn.error").addFilter(_is_news)
        try:
            with _signals_end_it():
                await _Server(config, ready, self._state.ending).serve(sockets=[listener])
        finally:
            if upstream:
                await upstream.close()
            self._state.close()


def _upstream(url: str) -> "Upstream":
    from bankml.serve.upstream import Upstream  # and httpx with it, which nothing else needs

    return Upstream(url)


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, ready: Callable[[], None], ending: Event) -> None:
        super().__init__(config)
        self._ready, self._ending = ready, ending

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._ending.set()
        super().handle_exit(sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()


def check(settings: Settings) -> None:
    """Raises InputError for a setting that would be silently ignored."""
    if settings.api_key:
        raise InputError(
            "BANKML_API_KEY is set, and keys are not supported yet: unset it, or set it in a proxy in front of bankml"
        )


@contextlib.contextmanager
def listen(host: str, port: int) -> Iterator[socket.socket]:
    """A socket bound to host and port (0: a free one), closed at the end. Raises InputError when that cannot be."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
    except (OSError, UnicodeError) as error:
        raise InputError(f"the host {host!r} cannot be used ({error}); give an address of this machine") from None
    with listener:
        if hasattr(socket, "SO_REUSEPORT"):  # everywhere but on Windows, where REUSEADDR would share a live port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(address)
        except (OSError, OverflowError) as error:
            raise InputError(_cannot_bind(host, port, error)) from None
        yield listener


def url(host: str, listener: socket.socket) -> str:
    """The address to give to clients."""
    return f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"


def _cannot_bind(host: str, port: int, error: Exception) -> str:
    if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
        return f"port {port} of {host} is taken; stop the other server or choose another with --port"
    if isinstance(error, PermissionError):
        return f"port {port} of {host} needs privileges; choose one above 1023 with --port"
    return f"{host}:{port} cannot be listened on ({error}); choose another --host or --port"


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


def _is_news(record: logging.LogRecord) -> bool:
    """Not what uvicorn says when the time of requests in flight is over: their clients are told."""
    return not str(record.msg).startswith("Cancel %s running task(s)")
