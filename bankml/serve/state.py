"""What every route of one server shares."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from threading import Event
from typing import Any, TypeVar, cast

from starlette.requests import Request

from bankml.encoder import Encoded, Encoder
from bankml.errors import Error, FileChangedError
from bankml.serve.engines import Engines, Loaded
from bankml.serve.errors import stopped
from bankml.serve.metrics import Metrics
from bankml.serve.names import Names
from bankml.serve.visit import visit
from bankml.serve.workers import Workers

T = TypeVar("T")


@dataclass(frozen=True)
class State:
    """Names of models, the models in memory, and the threads that use them."""

    names: Names
    engines: Engines
    workers: Workers
    metrics: Metrics = field(default_factory=Metrics)
    ending: Event = field(default_factory=Event)  # set at the first signal that ends the server

    async def run(self, request: Request, loaded: Loaded, call: Callable[[Encoder, Callable[[], bool]], T]) -> T:
        """`call(encoder, cancelled)` of a held model on a worker; once more, loaded anew, when its file was rewritten.

        Raises as `Workers.run`, as `Engines.hold` and as `call`.
        """
        encoder = loaded.encoder
        try:
            return await self.workers.run(request, partial(call, encoder))
        except FileChangedError:
            await self.engines.renew(loaded, encoder)
        return await self.workers.run(request, partial(call, loaded.encoder))

    async def encode(self, request: Request, loaded: Loaded, texts: list[str], **options: Any) -> Encoded:
        """`Encoder.encode_full` of a held model. Raises as `run`, and RefusedError for all that stops the embedding."""

        def call(encoder: Encoder, cancelled: Callable[[], bool]) -> Encoded:
            try:
                return encoder.encode_full(texts, **options, cancelled=cancelled)
            except FileChangedError:
                raise
            except Error as error:
                raise stopped(error) from error

        encoded = await self.run(request, loaded, call)
        visit(request.scope).embedded(loaded.choice.name, encoded)
        self.metrics.passed(len(texts), int(encoded.tokens.sum()))  # one request, one pass
        return encoded


def state(request: Request) -> State:
    """The state of the server that got the request."""
    return cast(State, request.app.state.shared)
