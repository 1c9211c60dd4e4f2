"""How long a body that is passed on may take."""

import asyncio

from starlette.types import Message, Receive

from bankml.serve.bodies import slow
from bankml.serve.errors import RefusedError
from bankml.serve.limits import Limits


class Patient:
    """A request's messages, as long as they keep coming.

    A body has the time of one that is read here. Beyond `max_body_bytes`, which bind no body that is passed on (a
    model's file has gigabytes), it has as much more as there is of it.
    """

    def __init__(self, receive: Receive, limits: Limits) -> None:
        self._receive = receive
        self._limits = limits
        self._clock = asyncio.get_running_loop().time
        self._began = self._clock()
        self._bytes = 0

    async def __call__(self) -> Message:
        """The next message. Raises RefusedError, 408, when it does not come."""
        try:
            async with asyncio.timeout_at(min(self._clock() + self._limits.max_silence_seconds, self._end)):
                message = await self._receive()
        except TimeoutError:
            raise RefusedError(408, slow(self._limits, over=self._clock() >= self._end)) from None
        self._bytes += len(message.get("body", b""))
        return message

    @property
    def _end(self) -> float:
        return self._began + self._limits.max_body_seconds * max(1.0, self._bytes / self._limits.max_body_bytes)
