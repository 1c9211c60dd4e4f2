"""What every route of one server shares."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from threading import Event
from typing import Any, TypeVar, cast

from starlette.requests import Request

from bankml.encoder import Encoded, Encoder, Tokens
from bankml.errors import Error, FileChangedError
from bankml.serve.answers import ROWS
from bankml.serve.engines import Engines, Loaded
from bankml.serve.errors import stopped
from bankml.serve.job import Job
from bankml.serve.ledger import Ledger
from bankml.serve.limits import COUNTED_TOKENS
from bankml.serve.metrics import Metrics
from bankml.serve.names import Names
from bankml.serve.scheduler import Scheduler
from bankml.serve.visit import visit
from bankml.serve.workers import Workers, while_wanted

T = TypeVar("T")

SHORT = 4096  # characters of all texts up to which they are tokenized at once: 0.1 ms, less than asking a thread takes


@dataclass
class State:
    """Names of models, the models in memory, the threads that use them, and what the requests in flight hold."""

    names: Names
    engines: Engines
    workers: Workers
    ledger: Ledger = field(default_factory=Ledger)
    metrics: Metrics = field(default_factory=Metrics)
    ending: Event = field(default_factory=Event)  # set at the first signal that ends the server
    scheduler: Scheduler = field(init=False)

    def __post_init__(self) -> None:
        self.scheduler = Scheduler(self.metrics)
        # Long requests that are tokenized at once. More would be no faster, and in a flood of clients that leave,
        # theirs would fill the queue before that is noticed.
        self._long = asyncio.Semaphore(4)
        self.engines.on_load = partial(self.metrics.stage, "load")

    def close(self) -> None:
        """Stop what runs and drop every model."""
        self.workers.close()
        self.scheduler.close()
        self.engines.close()

    async def run(self, request: Request, loaded: Loaded, call: Callable[[Encoder, Callable[[], bool]], T]) -> T:
        """`call(encoder, gone)` of a held model on a worker; once more, loaded anew, when its file was rewritten.

        Raises as `while_wanted`, `Ledger.admit`, `Engines.hold` and `call`.
        """
        self.ledger.admit(request.scope)

        async def work(encoder: Encoder) -> T:
            return await self.workers.run(lambda gone: call(encoder, gone))

        return await while_wanted(request, self._twice(loaded, work))

    async def encode(
        self,
        request: Request,
        loaded: Loaded,
        texts: list[str],
        normalize: bool = True,
        truncate: bool = True,
        dimensions: int | None = None,
        max_tokens: int | None = None,
    ) -> Encoded:
        """As `Encoder.encode_full` of a held model, to the bit, in passes shared with other requests.

        Raises as `run`, FullError, and RefusedError for all that stops the embedding.
        """
        self.ledger.admit(request.scope)

        async def work(encoder: Encoder) -> Encoded:
            tokens = await self._tokens(request, encoder, texts, truncate=truncate, max_tokens=max_tokens)
            rows = await self.scheduler.run(Job(encoder, tokens))
            if len(rows) <= ROWS:
                vectors = encoder.shortened(rows, normalize, dimensions)
            else:
                vectors = await self.workers.run(lambda gone: encoder.shortened(rows, normalize, dimensions))
            return Encoded(vectors, tokens.counts, tokens.truncated)

        async def refusing(encoder: Encoder) -> Encoded:
            try:
                return await work(encoder)
            except FileChangedError:
                raise
            except Error as error:
                raise stopped(error) from error

        encoded = await while_wanted(request, self._twice(loaded, refusing))
        visit(request.scope).embedded(loaded.choice.name, encoded)
        return encoded

    async def tokenize(self, request: Request, loaded: Loaded, texts: list[str]) -> Tokens:
        """The ids of whole texts. Raises as `run`, and FullError."""
        self.ledger.admit(request.scope)

        async def work(encoder: Encoder) -> Tokens:
            return await self._tokens(request, encoder, texts, whole=True)

        return await while_wanted(request, self._twice(loaded, work))

    async def _tokens(self, request: Request, encoder: Encoder, texts: list[str], **options: Any) -> Tokens:
        """`Encoder.tokens` with these options, counted in the ledger."""
        started = time.perf_counter()
        if sum(map(len, texts)) <= SHORT:
            tokens = encoder.tokens(texts, **options)
        else:
            async with self._long:
                tokens = await self.workers.run(lambda gone: encoder.tokens(texts, **options, cancelled=gone))
        self.metrics.stage("tokenize", time.perf_counter() - started)
        self.ledger.take_tokens(request.scope, int(tokens.counts.clip(min=COUNTED_TOKENS).sum()))
        return tokens

    async def _twice(self, loaded: Loaded, work: Callable[[Encoder], Awaitable[T]]) -> T:
        """`work` of a held model; once more, loaded anew, when its file was rewritten."""
        encoder = loaded.encoder
        try:
            return await work(encoder)
        except FileChangedError:
            await self.engines.renew(loaded, encoder)
        return await work(loaded.encoder)

    @property
    def max_texts(self) -> int:
        """How many texts one request may hold."""
        return self.ledger.limits.max_texts


def state(request: Request) -> State:
    """The state of the server that got the request."""
    return cast(State, request.app.state.shared)
