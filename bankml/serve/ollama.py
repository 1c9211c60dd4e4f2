"""Ollama's embedding routes: POST /api/embed and the older POST /api/embeddings."""

import time
from typing import Any

import msgspec
import numpy as np
from starlette.requests import Request
from starlette.responses import Response

from bankml.durations import keep_alive
from bankml.errors import TooLongError
from bankml.models import Choice
from bankml.serve.answers import Answer, vectors_answer
from bankml.serve.bodies import NULL, listed, read
from bankml.serve.errors import RefusedError
from bankml.serve.state import state
from bankml.serve.workers import while_wanted

LEAST_TOKENS = 3  # one of the text between two special ones
NOTHING_LEFT = "input after truncation exceeds maximum context length"


class EmbedRequest(msgspec.Struct):
    """The body of /api/embed. Fields with the types Any and Raw are checked here, with Ollama's words."""

    model: str | None = None
    input: msgspec.Raw = msgspec.field(default_factory=lambda: msgspec.Raw(NULL))
    truncate: bool | None = None
    dimensions: int | None = None
    normalize: bool | None = None  # ours: False gives the vectors as the model made them
    keep_alive: Any = None
    options: dict[str, Any] | None = None


class EmbeddingsRequest(msgspec.Struct):
    """The body of /api/embeddings."""

    model: str | None = None
    prompt: str | None = None
    keep_alive: Any = None
    options: dict[str, Any] | None = None


async def embed(request: Request) -> Response:
    """Unit vectors of a text or of a list of texts; a text above the limit is cut unless `truncate` is false."""
    started = time.perf_counter_ns()
    body = await read(request, EmbedRequest)
    shared = state(request)
    keep, texts, limit = _keep_alive(body.keep_alive), _texts(body.input, shared.max_texts), _limit(body.options)
    choice = await while_wanted(request, shared.names.find(body.model or ""))
    async with shared.engines.hold(choice, keep) as loaded:
        ready = time.perf_counter_ns()
        if not texts:
            return Answer({"model": body.model, "embeddings": []})
        _check_room(limit)
        normalize, truncate = body.normalize is not False, body.truncate is not False
        encoded = await shared.encode(request, loaded, texts, normalize, truncate, body.dimensions, limit)
    vectors = encoded.vectors
    content: dict[str, Any] = {"model": body.model, "embeddings": None}
    if encoded.truncated.any():
        content["truncated"] = np.flatnonzero(encoded.truncated)
    content |= counts(started, ready, int(encoded.tokens.sum()))
    return vectors_answer(content, "embeddings", lambda first, end: vectors[first:end], len(vectors), encoded.truncated)


async def embeddings(request: Request) -> Response:
    """One vector of `prompt`, in double precision; as the model made it where Ollama's legacy route gives it so."""
    body = await read(request, EmbeddingsRequest)
    keep, limit = _keep_alive(body.keep_alive), _limit(body.options)
    choice = await _legacy_find(request, body.model or "")
    async with state(request).engines.hold(choice, keep) as loaded:
        if not body.prompt:
            return Answer({"embedding": []})
        _check_room(limit)
        raw = await state(request).run(request, loaded, lambda encoder, _: legacy_is_raw(encoder.metadata))
        try:
            encoded = await state(request).encode(
                request, loaded, [body.prompt], normalize=not raw, truncate=False, max_tokens=limit
            )
        except RefusedError as refusal:
            if isinstance(refusal.__cause__, TooLongError):
                refusal.status = 500  # as Ollama's older route
            raise
    return Answer({"embedding": encoded.vectors[0].astype(np.float64)})


def legacy_is_raw(metadata: dict[str, Any]) -> bool:
    """Whether Ollama's /api/embeddings gives this model's vector un-normalised (bge-m3: yes, all-minilm: no)."""
    arch = metadata.get("general.architecture", "")
    normalized = metadata.get(f"{arch}.normalize_embeddings")
    if f"{arch}.pooling_type" not in metadata:
        return False
    if arch == "bert":
        return metadata.get("tokenizer.ggml.model") != "bert" or normalized is False
    return arch in ("nomic-bert", "nomic-bert-moe") and normalized is not True


async def _legacy_find(request: Request, name: str) -> Choice:
    """As the names of every route, with the words this route had before the others."""
    try:
        return await while_wanted(request, state(request).names.find(name))
    except RefusedError as refusal:
        if refusal.status == 404:
            raise RefusedError(404, f'model "{name}" not found, try pulling it first') from None
        raise RefusedError(400, "model is required") from None


def _keep_alive(value: Any) -> int | None:
    try:
        return keep_alive(value)
    except ValueError as error:
        raise RefusedError(400, str(error)) from None


def _texts(value: msgspec.Raw, most: int) -> list[str]:
    return [] if bytes(value) in (NULL, b'""') else listed(value, most)


def _limit(options: dict[str, Any] | None) -> int | None:
    """`num_ctx`, which can only lower the model's own limit; every other option is accepted and ignored."""
    value = (options or {}).get("num_ctx")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value):
        raise RefusedError(400, 'option "num_ctx" must be of type integer')
    return int(value) if value > 0 else None


def _check_room(limit: int | None) -> None:
    """Raises RefusedError for a `num_ctx` that has room for the special tokens alone: it can hold no text."""
    if limit is not None and limit < LEAST_TOKENS:
        least = f"a text needs {LEAST_TOKENS} tokens with its special ones; raise it or leave it out"
        raise RefusedError(400, NOTHING_LEFT, reason=f"num_ctx is {limit}, and {least}")


def counts(started: int, ready: int, tokens: int) -> dict[str, int]:
    """Nanoseconds and tokens; as in Ollama, what is zero is left out."""
    counts = {
        "total_duration": time.perf_counter_ns() - started,
        "load_duration": ready - started,
        "prompt_eval_count": tokens,
    }
    return {name: value for name, value in counts.items() if value}
