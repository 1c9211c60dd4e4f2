"""OpenAI's routes: POST /v1/embeddings, GET /v1/models and /v1/models/{id}."""

import asyncio
import base64
import re
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from starlette.requests import Request
from starlette.responses import Response

from bankml.models.description import Description, describe
from bankml.serve import catalogue
from bankml.serve.answers import Answer, vectors_answer
from bankml.serve.bodies import NULL, listed, read
from bankml.serve.errors import RefusedError
from bankml.serve.state import state
from bankml.serve.workers import while_wanted

TOKEN_IDS = (
    "invalid input type: token ids are of another vocabulary than this model's, so send the texts themselves "
    "(in langchain-openai: check_embedding_ctx_length=False)"
)


TOKENS_BEGIN = re.compile(rb"\[\s*(\[\s*)?-?\d+\s*[,\]]")  # a list of integers, or one that begins with such a list


class EmbeddingsRequest(msgspec.Struct):
    """The body of /v1/embeddings; `user` and other fields are accepted and ignored."""

    model: str | None = None
    input: msgspec.Raw = msgspec.field(default_factory=lambda: msgspec.Raw(NULL))
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

    return vectors_answer(content, "data", data, len(vectors), encoded.truncated)


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


def _texts(value: msgspec.Raw, most: int) -> list[str]:
    if TOKENS_BEGIN.match(bytes(value)):
        raise RefusedError(400, TOKEN_IDS, 0)
    texts = [] if bytes(value) == NULL else listed(value, most)
    if not texts:
        raise RefusedError(400, "invalid input")
    return texts


def _is_base64(encoding_format: str | None) -> bool:
    if (encoding_format or "float").lower() in ("float", "base64"):
        return (encoding_format or "float").lower() == "base64"
    message = f"Invalid value for 'encoding_format' = {encoding_format}. Supported values: ['float', 'base64']."
    raise RefusedError(400, message)


def _data(vectors: NDArray[np.float32], first: int, base64_wanted: bool) -> list[dict[str, Any]]:
    written = [base64.b64encode(row).decode() for row in vectors.astype("<f4")] if base64_wanted else vectors
    return [{"object": "embedding", "embedding": row, "index": index} for index, row in enumerate(written, first)]
