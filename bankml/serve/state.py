"""What every route of one server shares."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar, cast

from starlette.requests import Request

from bankml.encoder import Encoded, Encoder
from bankml.errors import BusyError, Error, ModelError, NotFiniteError
from bankml.serve.engines import Engines, Loaded
from bankml.serve.errors import stopped
from bankml.serve.names import Names
from bankml.serve.workers import Workers

T = TypeVar("T")


@dataclass(frozen=True)
class State:
    """Names of models, the models in memory, and the threads that use them."""

    names: Names
    engines: Engines
    workers: Workers

    async def run(self, request: Request, loaded: Loaded, call: Callable[[Encoder, Callable[[], bool]], T]) -> T:
        """`call(encoder, cancelled)` of a held model on a worker; once more, loaded anew, when its file was rewritten.

        Raises as `Workers.run` and as `call`.
        """
        encoder = loaded.encoder
        try:
            return await self.workers.run(request, partial(call, encoder))
        except NotFiniteError:
            raise  # the file is what it was
        except ModelError:
            await self.engines.renew(loaded, encoder)
        return await self.workers.run(request, partial(call, loaded.encoder))

    async def encode(self, request: Request, loaded: Loaded, texts: list[str], **options: Any) -> Encoded:
        """`Encoder.encode_full` of a held model. Raises BusyError, and RefusedError for all else that stops it."""

        def call(encoder: Encoder, cancelled: Callable[[], bool]) -> Encoded:
            return encoder.encode_full(texts, **options, cancelled=cancelled)

        try:
            return await self.run(request, loaded, call)
        except BusyError:
            raise
        except Error as error:
            raise stopped(error) from None


def state(request: Request) -> State:
    """The state of the server that got the request."""
    return cast(State, request.app.state.shared)
