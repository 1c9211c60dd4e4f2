"""One place where an error becomes a status and a body, in the shape of the family that was asked."""

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from bankml.errors import BusyError, Error, InputError, NotFiniteError, TooLongError
from bankml.serve import failures
from bankml.serve.answers import Answer
from bankml.serve.visit import visit

BUSY = "server busy, please try again.  maximum pending requests exceeded"  # Ollama's literal, two spaces included
CANCELED = "request canceled"
ONLY_EMBEDS = (
    "bankml only embeds: ask Ollama itself for {path}; models are fetched by `bankml pull` or `ollama pull` "
    "on the server's machine"
)
ENDING = "the server is ending; ask again when it is back"
INPUT_TYPE = "invalid input type"
NOT_FINITE = "embedding contains NaN or Inf values"
NO_MEMORY = "memory ran out while this request was worked on; send fewer or shorter texts, or give the server more"
TOO_LONG = "the input length exceeds the context length"

# OpenAI's types of errors.
_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    404: "not_found_error",
    429: "rate_limit_error",
}


class RefusedError(Exception):
    """A request that is answered with `status` and one sentence.

    `index`: which of the inputs is to blame, counted from 0. `reason`: bankml's sentence, where `message` is Ollama's.
    """

    def __init__(self, status: int, message: str, index: int | None = None, reason: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.index = index
        self.reason = reason


class FullError(RefusedError):
    """Too much is in flight; come again in `retry_after` seconds. 503 in Ollama's routes, 429 in OpenAI's."""

    def __init__(self, retry_after: int = 1) -> None:
        super().__init__(503, BUSY)
        self.retry_after = retry_after
        self.__cause__ = BusyError(BUSY)  # what it is counted as


class BrokenOffError(Exception):
    """Ollama broke off in the middle of an answer of a known length; what the client gets breaks off too."""


def not_found(name: str) -> RefusedError:
    """Ollama's sentence for a model that is not on this machine."""
    return RefusedError(404, f"model '{name}' not found")


def stopped(error: Error) -> RefusedError:
    """The refusal of texts whose embedding had begun: as in Ollama, whatever stops it is a 400."""
    for kind, words in ((TooLongError, TOO_LONG), (NotFiniteError, NOT_FINITE)):
        if isinstance(error, kind):
            return RefusedError(400, words, error.index, str(error))
    return RefusedError(400, str(error), error.index)


def refuse(request: Request, error: Exception) -> Response:
    """The answer to a request that failed with `error`; the starlette exception handler for every type."""
    if isinstance(error, HTTPException):
        answer = _unrouted(request.scope["path"], error)
    else:
        answer = _refused(request.scope["path"], _refusal(error), foreseen=isinstance(error, RefusedError | Error))
    visit(request.scope).failure = failures.kind(error, answer.status_code)
    return answer


def _refused(path: str, refusal: RefusedError, foreseen: bool) -> Response:
    if isinstance(refusal, FullError) and _is_openai(path):
        refusal.status = 429
    headers = _headers(refusal) if foreseen else {"Connection": "close"}  # uvicorn ends the connection after a bug
    return Answer(_body(path, refusal), refusal.status, headers)


def _refusal(error: Exception) -> RefusedError:
    if isinstance(error, RefusedError):
        return error
    if isinstance(error, BusyError):
        return RefusedError(503, str(error))
    if isinstance(error, InputError):
        return RefusedError(400, str(error), error.index)
    if isinstance(error, MemoryError):
        return RefusedError(500, NO_MEMORY)
    return RefusedError(500, str(error) or type(error).__name__, getattr(error, "index", None))


def _body(path: str, refusal: RefusedError) -> dict[str, object]:
    ours = {"index": refusal.index, "reason": refusal.reason}
    more = {name: value for name, value in ours.items() if value is not None}
    if not _is_openai(path):
        return {"error": str(refusal), **more}
    kind = _KINDS.get(refusal.status, "api_error")
    return {"error": {"message": str(refusal), "type": kind, "param": None, "code": None, **more}}


def _headers(refusal: RefusedError) -> dict[str, str]:
    if refusal.status == 401:
        return {"WWW-Authenticate": "Bearer"}
    if refusal.status == 408:
        return {"Connection": "close"}  # a body that stopped coming leaves it in the middle of a request
    if refusal.status in (429, 503):
        return {"Retry-After": str(getattr(refusal, "retry_after", 1))}
    return {}


def _is_openai(path: str) -> bool:
    return path.startswith("/v1/")


def _unrouted(path: str, error: HTTPException) -> Response:
    if error.status_code == 404 and _is_openai(path):
        return Answer(_body(path, RefusedError(404, ONLY_EMBEDS.format(path=path))), 404)
    texts = {404: "404 page not found", 405: "405 method not allowed"}
    return PlainTextResponse(texts.get(error.status_code, error.detail), error.status_code, error.headers)
