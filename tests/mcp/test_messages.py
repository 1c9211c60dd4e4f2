import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.types import JSONRPCNotification, JSONRPCRequest

from bankml.mcp.messages import message


def test_requests_and_notifications_are_read() -> None:
    read, error = message(b'{"jsonrpc":"2.0","id":"a","method":"ping","params":{"x":1}}')
    assert (read, error) == (JSONRPCRequest(jsonrpc="2.0", id="a", method="ping", params={"x": 1}), None)
    read, error = message(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
    assert (read, error) == (JSONRPCNotification(jsonrpc="2.0", method="notifications/initialized"), None)


def test_half_of_a_surrogate_pair_and_bytes_that_are_no_text_are_replaced() -> None:
    for odd in (rb"\ud800", b"\xff"):
        read, error = message(b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"x":"' + odd + b'"}}')
        assert error is None
        assert read.params == {"x": "\ufffd"}


@pytest.mark.parametrize(
    ("line", "code", "id"),
    [
        (b"garbage", -32700, None),
        (b"[" * 100_000, -32700, None),
        (b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"x":' + b"9" * 5000 + b"}}", -32700, None),
        (b"[]", -32600, None),
        (b"null", -32600, None),
        (b'{"jsonrpc":"2.0","id":7,"method":"m","params":[1]}', -32600, 7),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"m"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":null,"method":"m"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":true,"method":"m"}', -32600, None),
        (b'{"jsonrpc":"1.0","id":"x","method":"m"}', -32600, "x"),
        (b'{"id":3}', -32600, 3),
    ],
)
def test_what_is_no_message_is_answered(line: bytes, code: int, id: object) -> None:
    read, error = message(line)
    assert read is None
    assert (error.error.code, error.id) == (code, id)


@given(st.binary(max_size=80) | st.text(max_size=60).map(json.dumps).map(str.encode))
def test_any_line_is_a_message_or_an_answer(line: bytes) -> None:
    read, error = message(line)
    assert (read is None) != (error is None)
