"""Clients that have connected and not yet shaken hands, which no protocol hears of before it is done."""

import os
import socket
from contextlib import suppress
from typing import Any


class Handshakes:
    """Room for `most` handshakes: who has been at it longest makes way for one more. Belongs to one event loop."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._begun: dict[int, socket.socket] = {}  # by descriptor, in the order of coming; some have ended since

    def begin(self, client: socket.socket) -> None:
        """It was accepted."""
        self._begun.pop(client.fileno(), None)  # whose descriptor it has now is gone
        self._begun[client.fileno()] = client
        if len(self._begun) > self._most:
            with suppress(OSError):  # it may be closed
                self._begun.pop(next(iter(self._begun))).shutdown(socket.SHUT_RDWR)

    def done(self, descriptor: int) -> None:
        """The connection of this descriptor has shaken hands."""
        self._begun.pop(descriptor, None)


class Door(socket.socket):
    """Another descriptor of a listener; it says whom it lets in."""

    def __init__(self, listener: socket.socket, handshakes: Handshakes) -> None:
        super().__init__(fileno=os.dup(listener.fileno()))
        self.handshakes = handshakes

    def accept(self) -> tuple[socket.socket, Any]:
        client, address = super().accept()
        self.handshakes.begin(client)
        return client, address
