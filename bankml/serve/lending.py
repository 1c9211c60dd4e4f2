"""The server's models for threads that embed: what is searched beside the addresses needs no second engine."""

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from concurrent.futures import CancelledError, Future, wait
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from bankml.embedders.turn import LOOK
from bankml.encoder import Encoder
from bankml.errors import BusyError
from bankml.leaving import leaving
from bankml.models import Choice
from bankml.serve.engines import Engines
from bankml.serve.errors import ENDING

T = TypeVar("T")


class Lender:
    """Lends from the moment that a server opens it. Safe to use from threads other than that of the event loop."""

    def __init__(self) -> None:
        self._opened = threading.Event()
        self._closed = False
        self._engines: Engines | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def open(self, engines: Engines) -> None:
        """Lend these; called on their event loop."""
        self._engines, self._loop = engines, asyncio.get_running_loop()
        self._opened.set()

    def close(self) -> None:
        """Lend no more; who waits is told. Called before the event loop waits for threads that may wait for it."""
        self._closed = True

    def has(self, choice: Choice) -> bool:
        """Whether the model is in memory."""
        return self._engines is not None and any(loaded.choice.path == choice.path for loaded in self._engines.loaded())

    @contextmanager
    def lent(self, choice: Choice) -> Iterator[Encoder]:
        """The model's encoder, in memory at least until the block ends; waits for a server that is starting.

        Raises as `Engines.hold`, and BusyError when the server ends.
        """
        while not self._opened.wait(LOOK):
            self._check()
        assert self._engines
        held = self._engines.hold(choice)
        loaded = self._result(held.__aenter__())
        try:
            yield loaded.encoder
        finally:
            with suppress(RuntimeError):  # the loop is closed, and the engines with it
                self._begun(held.__aexit__(None, None, None))

    def _result(self, work: Coroutine[Any, Any, T]) -> T:
        try:
            future = self._begun(work)
            while not future.done():
                self._check()
                wait([future], LOOK)
            return future.result()
        except (RuntimeError, CancelledError):
            raise BusyError(ENDING) from None

    def _begun(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        assert self._loop
        try:
            return asyncio.run_coroutine_threadsafe(work, self._loop)
        except RuntimeError:
            work.close()
            raise

    def _check(self) -> None:
        if self._closed or leaving() or (self._loop and self._loop.is_closed()):
            raise BusyError(ENDING)
