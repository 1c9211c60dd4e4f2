"""JSON out: numpy vectors are written by orjson, each float32 with the fewest digits that give it back."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray
from starlette.responses import Response, StreamingResponse

from bankml.utf8 import whole

ROWS = 64  # of a piece of a long answer: 0.8 MB of JSON of 1,024 dimensions, 3 ms in which nobody else is answered


class Answer(Response):
    """A JSON body; numpy arrays are allowed in it."""

    media_type = "application/json"

    def __init__(self, content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(content, status, headers)

    def render(self, content: Any) -> bytes:
        return _json(content)


def answer(
    content: Mapping[str, Any], field: str, rows: Callable[[int, int], Any], count: int, truncated: NDArray[np.bool_]
) -> Response:
    """A JSON object whose `field`, already there for its place, is the list of `rows(0, count)`.

    A long one is written piece by piece, as fast as the client reads: it is never whole in memory, and holds up nobody.
    """
    headers = truncation_header(truncated)
    if count <= ROWS:
        return Answer({**content, field: rows(0, count)}, headers=headers)
    pieces = _pieces(content, field, rows, count)
    return StreamingResponse(_awaited(pieces), headers=headers, media_type=Answer.media_type)


def truncation_header(truncated: NDArray[np.bool_]) -> dict[str, str]:
    """`X-Bankml-Truncated: <number of inputs cut>`, when any was."""
    count = int(truncated.sum())
    return {"X-Bankml-Truncated": str(count)} if count else {}


def _pieces(content: Mapping[str, Any], field: str, rows: Callable[[int, int], Any], count: int) -> Iterator[bytes]:
    opened = b"{"
    for name, value in content.items():
        yield opened + _json(name) + b":"
        opened = b","
        if name != field:
            yield _json(value)
            continue
        for first in range(0, count, ROWS):
            yield (b"," if first else b"[") + _json(rows(first, min(first + ROWS, count)))[1:-1]
        yield b"]"
    yield b"}"


async def _awaited(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    """The pieces, made on the event loop; others have their turn while one is sent."""
    for piece in pieces:
        yield piece
        await asyncio.sleep(0)


def _json(content: Any) -> bytes:
    try:
        return orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY)
    except TypeError:  # a name or path of this machine that is not UTF-8
        return orjson.dumps(whole(content), option=orjson.OPT_SERIALIZE_NUMPY)
