"""The process: a socket, the served model, uvicorn, and a clean end."""

import asyncio
import socket
from collections.abc import Callable

from bankml.models import Choice
from bankml.serve.access import ANYBODY, Access
from bankml.serve.app import create_app
from bankml.serve.engines import Engines
from bankml.serve.http import Http
from bankml.serve.listener import is_loopback
from bankml.serve.names import Names
from bankml.serve.state import State
from bankml.serve.workers import Workers
from bankml.settings import Settings


class Served:
    """A server of one model by default, and of every other model on this machine by name."""

    def __init__(self, choice: Choice, threads: int | None = None, backend: str | None = None) -> None:
        self.choice = choice
        self._state = State(Names(choice), Engines(Settings.read().keep_alive, threads, backend), Workers())

    def run(self, listener: socket.socket, ready: Callable[[], None], access: Access = ANYBODY) -> None:
        """Serve until SIGINT or SIGTERM; `ready` is called when the model is loaded and connections are accepted."""
        asyncio.run(self._run(listener, ready, access))

    async def _run(self, listener: socket.socket, ready: Callable[[], None], access: Access) -> None:
        async with self._state.engines.hold(self.choice) as loaded:
            self._state.names.add(str(loaded.encoder.metadata.get("general.name", self.choice.name)))
        app = create_app(self._state, is_loopback(listener), access)
        try:
            await Http(app, access.tls, ready).answer(listener)
        finally:
            self._state.workers.close()
            self._state.engines.close()
