"""GET /openapi.json: every address of this server, what it takes and what it answers, as OpenAPI 3.1."""

import re
from collections.abc import Iterable

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

import bankml
from bankml.serve.cached import Cached
from bankml.serve.operations import ALWAYS, OPERATIONS, RESPONSES, Item, errors
from bankml.serve.schemas import SCHEMAS
from bankml.serve.state import state
from bankml.utf8 import whole

ABOUT = (
    "Text embeddings on the CPU, at Ollama's and OpenAI's addresses. A body is JSON whatever its Content-Type says, "
    "unless the request carries an Origin; its keys are found in any case and unknown ones are ignored. HEAD answers "
    "wherever GET does; any other method is 405 with Allow. X-Request-Id is taken from the request (1 to 128 of "
    "A-Z a-z 0-9 . _ -) or made, and stands on every answer. A server that was given keys wants one as "
    "Authorization: Bearer KEY."
)
TAGS = ("Ollama", "OpenAI", "bankml", "Elsewhere")
ELSEWHERE = "Not here: bankml only embeds"


def document(routes: Iterable[Route], model: str) -> Item:
    """The document for these routes, of a server that serves `model`."""
    paths: dict[str, Item] = {}
    for route in routes:
        item = paths.setdefault(route.path_format, _parameters(route.path_format, model))
        for method in sorted((route.methods or set()) - {"HEAD"}):
            item[method.lower()] = _operation(method, route.path_format, model)
    return {
        "openapi": "3.1.0",
        "info": {"title": "bankml", "version": bankml.__version__, "description": ABOUT},
        "servers": [{"url": "/"}],
        "tags": [{"name": name} for name in TAGS],
        "security": [{}, {"key": []}],
        "paths": paths,
        "components": {
            "schemas": SCHEMAS,
            "responses": RESPONSES,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


async def openapi(request: Request) -> Response:
    """The document of this server, made once."""
    shared = request.app.state
    if not hasattr(shared, "openapi"):
        routes = [route for route in request.app.routes if isinstance(route, Route)]
        content = orjson.dumps(document(routes, whole(state(request).names.served.name)))
        shared.openapi = Cached(content, "application/json")
    answer: Response = shared.openapi.answer(request)
    return answer


def _parameters(path: str, model: str) -> Item:
    """Of the path's own: the id of a model, or what belongs to a route that is not here."""
    schema = {"type": "string", "minLength": 1}
    found = [
        {"name": name, "in": "path", "required": True, "schema": schema, **({"example": model} if name == "id" else {})}
        for name in re.findall(r"{(\w+)}", path)
    ]
    return {"parameters": found} if found else {}


def _operation(method: str, path: str, model: str) -> Item:
    if operation := OPERATIONS.get(f"{method} {path}"):
        return operation(model)
    name = "_".join(re.findall(r"\w+", path.removeprefix("/api/")))
    said = {"tags": ["Elsewhere"], "summary": ELSEWHERE, "operationId": f"{method.lower()}_{name}"}
    return {**said, "responses": errors("Error", (404, *ALWAYS))}
