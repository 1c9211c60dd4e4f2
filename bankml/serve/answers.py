"""JSON out: numpy vectors are written by orjson, each float32 with the fewest digits that give it back."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray
from starlette.responses import Response

from bankml.utf8 import whole


class Answer(Response):
    """A JSON body; numpy arrays are allowed in it."""

    media_type = "application/json"

    def __init__(self, content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(content, status, headers)

    def render(self, content: Any) -> bytes:
        try:
            return orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY)
        except TypeError:  # a name or path of this machine that is not UTF-8
            return orjson.dumps(whole(content), option=orjson.OPT_SERIALIZE_NUMPY)


def truncation_header(truncated: NDArray[np.bool_]) -> dict[str, str]:
    """`X-Bankml-Truncated: <number of inputs cut>`, when any was."""
    count = int(truncated.sum())
    return {"X-Bankml-Truncated": str(count)} if count else {}
