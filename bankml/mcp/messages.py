"""A line of JSON-RPC as a message, or the answer that says why it is none."""

import json
from typing import Any

from mcp.types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from bankml.utf8 import whole

SHAPE = 'send {"jsonrpc": "2.0", "id": 1, "method": "…", "params": {…}} on one line'


def message(line: bytes) -> tuple[JSONRPCMessage | None, JSONRPCError | None]:
    """Either the message or the error that is answered: who sent a request waits for one."""
    try:
        found = jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError:
        return _leniently(line)
    if isinstance(found, JSONRPCNotification) and b'"id"' in line:
        return _leniently(line)
    return found, None


def refused(code: int, sentence: str, id: Any = None) -> JSONRPCError:
    """An error to the request of this id; null where that is not known."""
    known = id if isinstance(id, str) or (isinstance(id, int) and not isinstance(id, bool)) else None
    return JSONRPCError(jsonrpc="2.0", id=known, error=ErrorData(code=code, message=sentence))


def _leniently(line: bytes) -> tuple[JSONRPCMessage | None, JSONRPCError | None]:
    """With U+FFFD for what is no UTF-8 or half of a surrogate pair, which the SDK's parser refuses."""
    try:
        found = whole(json.loads(line.decode("utf-8", "replace")))
    except (ValueError, RecursionError):
        return None, refused(PARSE_ERROR, f"this line is no JSON that can be read: {SHAPE}")
    if not isinstance(found, dict):
        return None, refused(INVALID_REQUEST, f"this line is no JSON object: {SHAPE}")
    try:
        read = jsonrpc_message_adapter.validate_python(found, by_name=False)
    except ValidationError:
        read = None
    if read is None or (isinstance(read, JSONRPCNotification) and "id" in found):
        return None, refused(INVALID_REQUEST, f"this is no message of JSON-RPC 2.0: {SHAPE}", found.get("id"))
    return read, None
