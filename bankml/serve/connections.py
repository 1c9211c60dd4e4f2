"""How many connections there may be, and who makes way when there are too many."""

import resource
from typing import Protocol

from bankml.serve.handshakes import Handshakes

MOST = 4096  # connections of one server
DESCRIPTORS = 2**16  # asked for where the hard limit has no end; programs that walk through all of them stay quick


class Silent(Protocol):
    """A connection that owes nothing and is owed nothing: it can be closed."""

    def make_way(self) -> None:
        """Close now."""


def raise_limit() -> None:
    """Let this process open as many files as the system allows it, for every connection is one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < _descriptors():
        resource.setrlimit(resource.RLIMIT_NOFILE, (_descriptors(), hard))


def most(each: int = 1) -> int:
    """How many connections may be open: a quarter of the descriptors is for models, and for those that are refused.

    `each`: descriptors of one; two where a request may be passed on to Ollama.
    """
    return max(1, min(MOST, _descriptors() * 3 // 4 // each))


def _descriptors() -> int:
    """How many files the process may open, once the limit has been raised."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if resource.RLIM_INFINITY in (soft, hard):
        return DESCRIPTORS
    return max(soft, min(hard, DESCRIPTORS))


def at_once() -> int:
    """How many connections to accept before the others are looked at again.

    In a flood the others wait for so many requests between any two of their own steps: 8 are a tenth of a second of
    large ones, with 64 nobody else was served in a minute. They must not use up either what `most` leaves free: what
    asyncio does when it cannot accept is to log it 64 times and to wait a second.
    """
    return max(1, min(8, _descriptors() // 32))


def handshakes() -> int:
    """How many TLS handshakes may be under way, of the descriptors that `most` leaves free."""
    return max(1, min(MOST // 4, _descriptors() // 16))


class Room:
    """Room for `most` connections. Belongs to one event loop.

    Who never sent a whole request makes way first, then who has been silent longest.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.handshakes = Handshakes(handshakes())
        self._strangers: dict[Silent, None] = {}  # dictionaries keep the order of coming
        self._guests: dict[Silent, None] = {}

    def leave(self, connection: Silent) -> None:
        """It is gone, or a request of it is being answered."""
        self._strangers.pop(connection, None)
        self._guests.pop(connection, None)

    def wait(self, connection: Silent, stranger: bool) -> None:
        """It is between requests: connected, idle, or sending the head of one. `stranger`: of its first."""
        self.leave(connection)
        (self._strangers if stranger else self._guests)[connection] = None

    def take(self, open_now: int) -> bool:
        """Whether the newest of `open_now` connections may stay: if need be, in another's place."""
        if open_now <= self.most:
            return True
        waiting = self._strangers or self._guests
        if not waiting:
            return False
        oldest = next(iter(waiting))
        del waiting[oldest]
        oldest.make_way()
        return True
