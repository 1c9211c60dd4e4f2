"""One request's texts on their way through an encoder."""

import asyncio
import time
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from bankml.encoder import Encoder, Tokens

URGENT = 128  # tokens up to which a request is a query, which goes before documents


class Job:
    """Texts as tokens; their rows (n, dims) as the model made them, filled pass by pass; and who waits for them.

    The queue gives its texts to passes, the scheduler's threads fill its rows, and its own event loop is told.
    """

    def __init__(self, encoder: Encoder, tokens: Tokens) -> None:
        self.encoder = encoder
        self.tokens = tokens
        self.rows: NDArray[np.float32] = np.empty((len(tokens), encoder.dims), np.float32)
        self.urgent = self.size <= URGENT
        self.due = 0  # set by the queue: jobs are served in this order
        self.next = 0  # the first text that no pass has taken
        self.done = 0  # texts that have their rows
        self.gone = False  # nobody waits any more
        self._loop = asyncio.get_running_loop()
        self.came = time.perf_counter()
        self.answer: asyncio.Future[Exception | None] = self._loop.create_future()

    @property
    def size(self) -> int:
        """Tokens of all texts."""
        return int(self.tokens.starts[-1])

    @property
    def waiting(self) -> int:
        """Tokens of the texts that no pass has taken."""
        return self.size - int(self.tokens.starts[self.next])

    def fitting(self, room: int, at_least: int = 0) -> int:
        """The end of the next texts that have at most `room` tokens together, or of `at_least` so many."""
        starts = self.tokens.starts
        end = int(np.searchsorted(starts, starts[self.next] + room, "right")) - 1
        return max(end, self.next + at_least)

    def end(self, error: Exception) -> None:
        """Give it up, from any thread, and tell who waits why."""
        self.gone = True
        self.settle(error)

    def settle(self, error: Exception | None = None) -> None:
        """Tell who waits, from any thread, that all rows are there or what stopped them."""
        with suppress(RuntimeError):  # the loop was closed, and nobody waits
            self._loop.call_soon_threadsafe(self._settle, error)

    def _settle(self, error: Exception | None) -> None:
        if not self.answer.done():
            self.answer.set_result(error)
