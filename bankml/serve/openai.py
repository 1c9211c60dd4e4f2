"""OpenAI's routes: POST /v1/embeddings, GET /v1/models and /v1/models/{id}."""

import asyncio
import base64
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from starlette.requests import Request
from starlette.responses import Response

from bankml.models.description import Description, describe
from bankml.serve import catalogue
from bankml.serve.answers import Answer, answer
from bankml.serve.bodies import listed, read
from bankml.serve.errors import RefusedError
from bankml.serve.state import state
from bankml.serve.workers import while_wanted

TOKEN_IDS = (
    "invalid input type: token ids are of another vocabulary than this model's, so send the texts themselves "
    "(in langchain-openai: check_embedding_ctx_length=False)"
)


class EmbeddingsRequest(msgspec.Struct):
    """The body of /v1/embeddings; `user` and other fields are accepted and ignored."""

    model: str | None = None
    input: Any = None
    encoding_format: str | None = None
    dimensions: int | None = None


async def embeddings(request: Request) -> Response:
    """Unit vectors, as lists of numbers or as base64 of little-endian float32; over-long texts are cut and counted."""
    body = await read(request, EmbeddingsRequest)
    shared = state(request)
    texts = _texts(body.input, shared.max_texts)
    base64_wanted = _is_base64(body.encoding_format)
    choice = await while_wanted(request, shared.names.find(body.model or ""))
    async with shared.engines.hold(choice) as loaded:
        encoded = await shared.encode(request, loaded, texts, dimensions=body.dimensions)
    tokens = int(encoded.tokens.sum())
    content = {
        "object": "list",
        "data": None,
        "model": body.model,
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }
    vectors = encoded.vectors

    def data(first: int, end: int) -> list[dict[str, Any]]:
        return _data(vectors[first:end], first, base64_wanted)

    return answer(content, "data", data, len(vectors), encoded.truncated)


async def models(request: Request) -> Response:
    """Every model on this machine."""
    return Answer({"object": "list", "data": await catalogue.rows(request, _model)})


async def model(request: Request) -> Response:
    """One model by name."""
    name = request.path_params["id"]
    choice = await while_wanted(request, state(request).names.find(name))
    entry = await while_wanted(request, asyncio.to_thread(describe, choice))
    return Answer(_model(entry) | {"id": name})


def _model(entry: Description) -> dict[str, Any]:
    return {"id": entry.name, "object": "model", "created": int(entry.modified), "owned_by": entry.namespace}


def _texts(value: Any, most: int) -> list[str]:
    if value is None or value == []:
        raise RefusedError(400, "invalid input")
    if _are_token_ids(value):
        raise RefusedError(400, TOKEN_IDS, 0)
    return listed(value, most)


def _are_token_ids(value: Any) -> bool:
    """Whether this is a list of integers, or begins with one."""
    ids = value[0] if isinstance(value, list) and value and isinstance(value[0], list) else value
    return isinstance(ids, list) and bool(ids) and all(type(item) is int for item in ids)


def _is_base64(encoding_format: str | None) -> bool:
    if (encoding_format or "float").lower() in ("float", "base64"):
        return (encoding_format or "float").lower() == "base64"
    message = f"Invalid value for 'encoding_format' = {encoding_format}. Supported values: ['float', 'base64']."
    raise RefusedError(400, message)


def _data(vectors: NDArray[np.float32], first: int, base64_wanted: bool) -> list[dict[str, Any]]:
    written = [base64.b64encode(row).decode() for row in vectors.astype("<f4")] if base64_wanted else vectors
    return [{"object": "embedding", "embedding": row, "index": index} for index, row in enumerate(written, first)]
