"""Go's words for malformed JSON. The expected ones are those of encoding/json."""

import msgspec
import pytest

from bankml.serve.syntax import go_words


def words(body: bytes) -> str:
    with pytest.raises((msgspec.DecodeError, RecursionError)) as error:
        msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    return go_words(error.value, body)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"{", "unexpected EOF"),
        (b'{"a', "unexpected EOF"),
        (b'{"a": [1, ', "unexpected EOF"),
        (b"<html>", "invalid character '<' looking for beginning of value"),
        (b"model=a", "invalid character 'm' looking for beginning of value"),
        (b" \n'a'", r"invalid character '\'' looking for beginning of value"),
        (b"\x1f\x8b\x08", r"invalid character '\x1f' looking for beginning of value"),
        (b"\xef\xbb\xbf{}", "invalid character 'ï' looking for beginning of value"),
        (b"\x85", r"invalid character '\u0085' looking for beginning of value"),
        (b'{"a": NaN}', "invalid character 'N' looking for beginning of value"),
        (b'{"a":}', "invalid character '}' looking for beginning of value"),
        (b'{"a": [,]}', "invalid character ',' looking for beginning of value"),
        (b'{"a": [1,]}', "invalid character ']' looking for beginning of value"),
        (b"{'a': 1}", r"invalid character '\'' looking for beginning of object key string"),
        (b'{"a": 1,}', "invalid character '}' looking for beginning of object key string"),
        (b'{"a" 1}', "invalid character '1' after object key"),
        (b'{"a": 1 "b": 2}', "invalid character '\"' after object key:value pair"),
        (b'{"a": [1 2]}', "invalid character '2' after array element"),
        (b'{"a": "x\ny"}', r"invalid character '\n' in string literal"),
        (b'{"a": "x\0y"}', r"invalid character '\x00' in string literal"),
        (b"{} x", "invalid character 'x' after top-level value"),
        (b'{"a": ' + b"[" * 100_000, "exceeded max depth"),
    ],
)
def test_words(body, expected):
    assert words(body) == expected


@pytest.mark.parametrize("body", [b'{"a": 01}', b'{"a": trux}', b'{"a": -x}', b'{"a": "\\q"}', b'{"a": 1.}'])
def test_what_msgspec_does_not_place_is_in_our_words(body):
    assert words(body).startswith("the request body is not valid JSON: JSON is malformed: ")
