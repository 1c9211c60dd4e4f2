"""The process: the served model, its application, a socket, and a clean end."""

import asyncio
import contextlib
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bankml.models import Choice
from bankml.room import Room
from bankml.serve import allocator
from bankml.serve.access import ANYBODY, Access
from bankml.serve.access_log import access_log
from bankml.serve.app import create_app
from bankml.serve.engines import Engines
from bankml.serve.http import Http
from bankml.serve.ledger import Ledger
from bankml.serve.lending import Lender
from bankml.serve.limits import Limits
from bankml.serve.lines import Lines
from bankml.serve.listener import is_loopback
from bankml.serve.names import Names
from bankml.serve.state import State
from bankml.serve.workers import Workers
from bankml.settings import Settings

if TYPE_CHECKING:
    from bankml.serve.knowledge import Knowledge
    from bankml.serve.ragebar import Ragebar
    from bankml.serve.upstream import Upstream


@dataclass(frozen=True)
class Options:
    """How a server serves. `threads` and `backend` as in Encoder."""

    threads: int | None = None
    backend: str | None = None
    keep_alive: int | None = None  # nanoseconds; None: BANKML_KEEP_ALIVE's
    forward: str | None = None  # the URL of the Ollama that gets what bankml does not answer
    log: str | None = None  # the format of the access log
    limits: Limits = field(default_factory=Limits)
    access: Access = ANYBODY
    ragebar: "Ragebar | None" = None  # the history that is searched under /ui
    knowledge: "Knowledge | None" = None  # the knowledge base likewise, and at /kb/
    lender: Lender = field(default_factory=Lender)  # through which these use the server's models


class Served:
    """A server of one model by default, and of every other model on this machine by name."""

    def __init__(self, choice: Choice, options: Options) -> None:
        self.choice = choice
        self._options = options
        settings = Settings.read()
        keep = settings.keep_alive if options.keep_alive is None else options.keep_alive
        room = Room(options.threads or settings.threads, settings.embed_need)
        engines = Engines(keep, options.threads, options.backend, room)
        self._state = State(Names(choice), engines, Workers(), Ledger(options.limits))

    def run(self, listener: socket.socket, ready: Callable[[], None]) -> None:
        """Serve until SIGINT or SIGTERM; `ready` is called when the model is loaded and connections are accepted."""
        allocator.give_back_at_once()
        lines = Lines(sys.stderr.fileno(), self._state.metrics.lost_lines)
        with lines, contextlib.redirect_stderr(lines):
            asyncio.run(self._run(listener, ready))

    async def _run(self, listener: socket.socket, ready: Callable[[], None]) -> None:
        state, options = self._state, self._options
        options.lender.open(state.engines)
        async with state.engines.hold(self.choice) as loaded:
            state.names.add(str(loaded.encoder.metadata.get("general.name", self.choice.name)))
            state.metrics.runs_on(loaded.encoder.backend)
        upstream = _upstream(options.forward) if options.forward else None
        log = access_log(sys.stderr, options.log) if options.log else None
        app = create_app(
            state, is_loopback(listener), options.access, upstream, log, options.ragebar, options.knowledge
        )
        try:
            await Http(app, options.access.tls, ready, state.ending, options.limits.max_connections).answer(listener)
        finally:
            if upstream:
                await upstream.close()
            options.lender.close()
            for searched in (options.ragebar, options.knowledge):
                if searched:
                    searched.close()
            state.close()


def _upstream(url: str) -> "Upstream":
    from bankml.serve.upstream import Upstream  # and httpx with it, which nothing else needs

    return Upstream(url)
