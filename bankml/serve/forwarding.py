"""Which requests bankml answers itself and which it leaves to the local Ollama (`bankml serve` without --native)."""

from typing import Any

import msgspec
import orjson
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bankml.serve import answering
from bankml.serve.answers import Answer
from bankml.serve.bodies import read
from bankml.serve.errors import RefusedError, refuse
from bankml.serve.names import Names, key
from bankml.serve.state import state
from bankml.serve.upstream import MARK, BrokenError, UnreachableError, Upstream, has_body
from bankml.serve.workers import while_wanted

LISTS = {"/api/tags": "models", "/api/ps": "models", "/v1/models": "data"}
BY_BODY = {"/api/embed", "/api/embeddings", "/api/show", "/v1/embeddings"}  # bankml's, if the model is
OWN = {"/api/version", *LISTS}
ONE_MODEL = "/v1/models/"
READS = ("GET", "HEAD")


class Named(msgspec.Struct):
    """The fields of a body that say which model is meant."""

    model: Any = None
    name: Any = None

    def __str__(self) -> str:
        return next((name for name in (self.model, self.name) if isinstance(name, str)), "")


class Forwarding:
    """ASGI middleware around the application that answers for bankml's own models."""

    def __init__(self, app: ASGIApp, names: Names, upstream: Upstream) -> None:
        self._app = app
        self._names = names
        self._upstream = upstream

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        if scope["type"] != "http" or not path.startswith(("/api/", "/v1/")) or MARK in Headers(scope=scope):
            await self._app(scope, receive, send)
        elif path in LISTS and scope["method"] == "GET":
            await self._list(scope, receive, send)
        elif path.startswith(ONE_MODEL) and scope["method"] in READS:
            await self._answer(scope, Recorded(receive), send, path.removeprefix(ONE_MODEL), read=not has_body(scope))
        elif path in BY_BODY and scope["method"] == "POST":
            await self._by_body(scope, receive, send)
        elif path in OWN | BY_BODY:
            await self._app(scope, receive, send)
        else:
            await self._leave(scope, receive, send)

    async def _by_body(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = Recorded(receive)
        try:
            name = str(await read(Request(scope, body), Named))
        except RefusedError as refusal:
            await refuse(Request(scope), refusal)(scope, receive, send)
        else:
            await self._answer(scope, body, send, name, read=True)

    async def _answer(self, scope: Scope, body: "Recorded", send: Send, name: str, read: bool) -> None:
        """bankml's answer where the model is its, else Ollama's; of a model that neither has, bankml's 404.

        `read`: nothing of the body is left, so it shows when the client leaves.
        """
        try:
            looking = answering.elsewhere(self._names, name)
            why = await (while_wanted(Request(scope, body), looking) if read else looking)
        except RefusedError as refusal:
            return await self._refuse(scope, body, send, refusal)
        if why is None:
            return await self._app(scope, body.again(), send)
        try:
            await self._forward(scope, body.again(), send)
        except UnreachableError as error:
            if why == answering.UNKNOWN:
                return await self._app(scope, body.again(), send)
            await self._refuse(scope, body.again(), send, self._absent(f"{name} is left to Ollama ({why})", error))
        except BrokenError as error:
            await self._refuse(scope, body.again(), send, self._broken(error))
        except RefusedError as refusal:
            await self._refuse(scope, body.again(), send, refusal)

    async def _leave(self, scope: Scope, receive: Receive, send: Send) -> None:
        """What has nothing to do with embedding."""
        try:
            await self._forward(scope, receive, send)
        except UnreachableError as error:
            what = f"{scope['path']}{await _of_model(scope, receive)} is left to Ollama (bankml only embeds)"
            await self._refuse(scope, receive, send, self._absent(what, error))
        except BrokenError as error:
            await self._refuse(scope, receive, send, self._broken(error))
        except RefusedError as refusal:
            await self._refuse(scope, receive, send, refusal)

    async def _forward(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As `Upstream.forward`, counted among the requests in flight. Raises FullError too."""
        ledger = state(Request(scope)).ledger
        if has_body(scope):
            ledger.admit(scope)
        await self._upstream.forward(scope, receive, send, ledger.limits)

    async def _list(self, scope: Scope, receive: Receive, send: Send) -> None:
        """bankml's rows, and behind them Ollama's of other names."""
        field, ours = LISTS[scope["path"]], Kept()
        await self._app(scope, receive, ours)
        if ours.status != 200:
            return await ours.to(send)
        content = orjson.loads(ours.body)
        known = {_key(row) for row in content[field]}
        theirs = await self._upstream.listed(scope["path"], field)
        content[field] += [row for row in theirs if _key(row) not in known]
        await Answer(content)(scope, receive, send)

    def _absent(self, what: str, error: Exception) -> RefusedError:
        return RefusedError(
            502,
            f"{what}, and no Ollama answers at {self._upstream.url} ({error}): start it with `ollama serve`, or set "
            "BANKML_OLLAMA to where it listens",
        )

    def _broken(self, error: Exception) -> RefusedError:
        return RefusedError(502, f"the Ollama at {self._upstream.url} did not answer ({error}); look at its log")

    async def _refuse(self, scope: Scope, receive: Receive, send: Send, refusal: RefusedError) -> None:
        await refuse(Request(scope), refusal)(scope, receive, send)


class Recorded:
    """A body that can be read again from its beginning."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._messages: list[Message] = []

    async def __call__(self) -> Message:
        message = await self._receive()
        self._messages.append(message)
        return message

    def again(self) -> Receive:
        """What was received so far, then what comes."""
        before = iter(list(self._messages))

        async def receive() -> Message:
            message = next(before, None)
            return await self._receive() if message is None else message

        return receive


class Kept:
    """An answer that is kept instead of sent."""

    def __init__(self) -> None:
        self._messages: list[Message] = []

    async def __call__(self, message: Message) -> None:
        self._messages.append(message)

    @property
    def status(self) -> int:
        """Of the answer."""
        return int(self._messages[0]["status"])

    @property
    def body(self) -> bytes:
        """Of the answer."""
        return b"".join(message.get("body", b"") for message in self._messages)

    async def to(self, send: Send) -> None:
        """Send it after all."""
        for message in self._messages:
            await send(message)


async def _of_model(scope: Scope, receive: Receive) -> str:
    try:
        name = str(await read(Request(scope, receive), Named)) if scope["method"] not in READS else ""
    except RefusedError:
        name = ""
    return f" of {name}" if name else ""


def _key(row: dict[str, Any]) -> str:
    return key(str(row.get("name") or row.get("id") or ""))
