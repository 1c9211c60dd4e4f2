"""What every route of one server shares."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar, cast

from starlette.requests import Request

from bankml.encoder import Encoder
from bankml.errors import ModelError
from bankml.serve.engines import Engines, Loaded
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
        except ModelError:
            await self.engines.renew(loaded, encoder)
        return await self.workers.run(request, partial(call, loaded.encoder))


def state(request: Request) -> State:
    """The state of the server that got the request."""
    return cast(State, request.app.state.shared)
