"""One place where an error becomes a status and a body, in the shape of the family that was asked."""

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from bankml.errors import BusyError, InputError
from bankml.serve.answers import Answer

BUSY = "server busy, please try again.  maximum pending requests exceeded"  # Ollama's literal, two spaces included
CANCELED = "request canceled"
TOO_LONG = "the input length exceeds the context length"


class RefusedError(Exception):
    """A request that is answered with `status` and one sentence."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def not_found(name: str) -> RefusedError:
    """Ollama's sentence for a model that is not on this machine."""
    return RefusedError(404, f"model '{name}' not found")


def refuse(request: Request, error: Exception) -> Response:
    """The answer to a request that failed with `error`; the starlette exception handler for every type."""
    if isinstance(error, HTTPException):
        return _unrouted(error)
    refusal = _refusal(error)
    headers = {"Retry-After": "1"} if refusal.status == 503 else {}
    return Answer(_body(request.url.path, refusal), refusal.status, headers)


def _refusal(error: Exception) -> RefusedError:
    if isinstance(error, RefusedError):
        return error
    if isinstance(error, BusyError):
        return RefusedError(503, str(error))
    if isinstance(error, InputError):
        return RefusedError(400, str(error))
    return RefusedError(500, str(error) or type(error).__name__)


def _body(path: str, refusal: RefusedError) -> dict[str, object]:
    message = str(refusal)
    if not path.startswith("/v1/"):
        return {"error": message}
    kinds = {400: "invalid_request_error", 404: "not_found_error"}
    return {"error": {"message": message, "type": kinds.get(refusal.status, "api_error"), "param": None, "code": None}}


def _unrouted(error: HTTPException) -> Response:
    texts = {404: "404 page not found", 405: "405 method not allowed"}
    return PlainTextResponse(texts.get(error.status_code, error.detail), error.status_code, error.headers)
