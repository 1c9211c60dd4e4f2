"""JSON out: numpy vectors are written by orjson, each float32 with the fewest digits that give it back."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray
from starlette.responses import Response, StreamingResponse

from bankml.encoder import Tokens
from bankml.utf8 import whole

ROWS = 64  # of a piece of a long answer: 0.8 MB of JSON of 1,024 dimensions, 3 ms in which nobody else is answered
IDS = 65_536  # token ids likewise


class Answer(Response):
    """A JSON body; numpy arrays are allowed in it."""

    media_type = "application/json"

    def __init__(self, content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(content, status, headers)

    def render(self, content: Any) -> bytes:
        return _json(content)


def vectors_answer(
    content: Mapping[str, Any], field: str, rows: Callable[[int, int], Any], count: int, truncated: NDArray[np.bool_]
) -> Response:
    """A JSON object whose `field`, already there for its place, is the list of `rows(0, count)`.

    A long one is written piece by piece, as fast as the client reads: it is never whole in memory, and holds up nobody.
    """
    headers = truncation_header(truncated)
    if count <= ROWS:
        return Answer({**content, field: rows(0, count)}, headers=headers)
    parts = (_json(rows(first, min(first + ROWS, count)))[1:-1] for first in range(0, count, ROWS))
    return _streamed(content, field, _joined(parts), headers)


def tokens_answer(content: Mapping[str, Any], field: str, tokens: Tokens) -> Response:
    """A JSON object whose `field` is the list of the ids of each text; a long one as in `vectors_answer`."""
    texts = [tokens.ids[start:end] for start, end in itertools.pairwise(tokens.starts)]
    if len(tokens.ids) + len(texts) <= IDS:
        return Answer({**content, field: texts})
    return _streamed(content, field, _texts(texts), {})


def _texts(texts: Sequence[NDArray[np.int32]]) -> Iterator[bytes]:
    """The lists of the texts' ids and the commas between them; of a long text a piece for every IDS of them."""
    for number, text in enumerate(texts):
        yield b",[" if number else b"["
        yield from _joined(_json(text[first : first + IDS])[1:-1] for first in range(0, len(text), IDS))
        yield b"]"


def _joined(parts: Iterator[bytes]) -> Iterator[bytes]:
    """The parts of a list, each but the first behind a comma."""
    between = b""
    for part in parts:
        yield between + part
        between = b","


def truncation_header(truncated: NDArray[np.bool_]) -> dict[str, str]:
    """`X-Bankml-Truncated: <number of inputs cut>`, when any was."""
    count = int(truncated.sum())
    return {"X-Bankml-Truncated": str(count)} if count else {}


def _streamed(
    content: Mapping[str, Any], field: str, inside: Iterator[bytes], headers: Mapping[str, str]
) -> StreamingResponse:
    return StreamingResponse(_awaited(_pieces(content, field, inside)), headers=headers, media_type=Answer.media_type)


def _pieces(content: Mapping[str, Any], field: str, inside: Iterator[bytes]) -> Iterator[bytes]:
    """The object, with the list that is its `field` written as `inside` gives it."""
    opened = b"{"
    for name, value in content.items():
        yield opened + _json(name) + b":"
        opened = b","
        if name != field:
            yield _json(value)
            continue
        yield b"["
        yield from inside
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
