"""What a fault leaves in the log: its kind and its place, never its words, for they may quote a request."""

import asyncio
import logging
import re
import traceback
from collections.abc import Iterator
from typing import Any

from bankml.serve.errors import BrokenOffError

_ARGUMENTS = re.compile(r"\(.*\)", re.DOTALL)
AGAIN = 60.0  # seconds
_LOG = logging.getLogger("asyncio")
# What uvicorn says of its clients' faults, and of those whose time is over: they are told themselves.
_NO_NEWS = ("Invalid HTTP request received.", "Cancel %s running task(s)")


def keep_words_out() -> None:
    """From here on uvicorn and asyncio log no words of an exception."""
    for name in ("uvicorn.error", "asyncio"):
        logging.getLogger(name).addFilter(wordless)


def wordless(record: logging.LogRecord) -> bool:
    """A filter of logging: keeps news, and of an exception its kind and place."""
    error = record.exc_info[1] if record.exc_info else None
    if isinstance(error, BrokenOffError):
        return False
    if error:
        record.exc_text = "\n".join(_places(error))
        record.exc_info = None
    return not str(record.msg).startswith(_NO_NEWS)


class Teller:
    """The event loop's exception handler: one line and a place, the same fault once a minute.

    asyncio's own shows the objects it is about, and repeats itself for every connection that it cannot accept.
    """

    def __init__(self) -> None:
        self._told: dict[str, float] = {}

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        message = _ARGUMENTS.sub("()", str(context["message"]))
        if loop.time() - self._told.get(message, -AGAIN) >= AGAIN:
            self._told[message] = loop.time()
            _LOG.error("%s", message, exc_info=context.get("exception"))


def _places(error: BaseException | None) -> Iterator[str]:
    while error:
        yield "".join(traceback.format_tb(error.__traceback__)) + type(error).__qualname__
        error = error.__cause__ or error.__context__
