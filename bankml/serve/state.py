"""What every route of one server shares."""

from dataclasses import dataclass
from typing import cast

from starlette.requests import Request

from bankml.serve.engines import Engines
from bankml.serve.names import Names
from bankml.serve.workers import Workers


@dataclass(frozen=True)
class State:
    """Names of models, the models in memory, and the threads that use them."""

    names: Names
    engines: Engines
    workers: Workers


def state(request: Request) -> State:
    """The state of the server that got the request."""
    return cast(State, request.app.state.shared)
