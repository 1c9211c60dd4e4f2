"""One line: what is written, what is read, and that the quick way to read it sees what JSON would say."""

import base64
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bankml.cache import line
from bankml.cache.line import BadLineError
from tests.cache import original

KEY, DIGEST = "a" * 64, "d" * 64
UNIT = np.full(4, 0.5, np.float32)
GOOD = line.written(KEY, "bge-m3", DIGEST, UNIT, None)[:-1]


pytestmark = pytest.mark.filterwarnings("error")


def told(read, text):
    """What a reader makes of a line, in a form that can be compared."""
    try:
        found = read(text)
    except BadLineError as error:
        return str(error)
    return None if found is None else (found.key, found.digest, found.dims, found.vector.tobytes())


def with_vec(values, dims=None, **more):
    vec = base64.b64encode(np.array(values, "<f4").tobytes()).decode()
    fields = {"text_sha256": KEY, "model": "m", "digest": DIGEST, "dims": dims or len(values), "vec": vec}
    return json.dumps(fields | more).encode()


def test_as_the_original_writes_it():
    assert GOOD.decode() + "\n" == original.line(KEY, "bge-m3", DIGEST, UNIT.tolist())
    assert line.read(GOOD).vector.tolist() == UNIT.tolist()


@given(st.text(), st.text() | st.none())
def test_any_name_stays_on_its_line(model, engine):
    written = line.written(KEY, model, DIGEST, UNIT, engine)
    assert written.endswith(b"}\n")
    assert len(written.decode("ascii").splitlines()) == 1
    fields = json.loads(written)
    assert (fields["model"], fields.get("engine")) == (model, engine)
    assert fields["vec"] == json.loads(GOOD)["vec"]
    assert told(line.read, written[:-1]) == told(line.read, GOOD)


@given(st.data())
def test_the_quick_way_sees_what_json_says(data):
    """A line with a few bytes changed: wherever the quick way has an answer, it is that of the parser."""
    text = bytearray(line.written(KEY, "m", DIGEST, UNIT, data.draw(st.sampled_from([None, "e"])))[:-1])
    for _ in range(data.draw(st.integers(0, 3))):
        at = data.draw(st.integers(0, len(text) - 1))
        letters = data.draw(
            st.binary(max_size=2) | st.sampled_from([b'"', b"\\", b"}", b", ", b"0", b"=", b"\x00", b"\xff"])
        )
        text[at : at + data.draw(st.integers(0, 2))] = letters
    quick = told(line._plain, bytes(text))
    assert quick is None or quick == told(line._any_json, bytes(text))


def test_our_own_lines_take_the_quick_way():
    assert line._plain(GOOD)
    assert line._plain(line.written(KEY, "m", DIGEST, UNIT, "e")[:-1])


BAD = {
    "not JSON": (b"hello", "no JSON"),
    "torn": (GOOD[:-1], "no JSON"),
    "torn in the vector": (GOOD[:-9], "no JSON"),
    "two lines in one": (GOOD + GOOD, "no JSON"),
    "a quote that ends nothing": (GOOD.replace(b'bge-m3"', b'bge-m3\\"'), "no JSON"),
    "one at the end": (GOOD[:-1] + b', "engine": "e\\"}', "no JSON"),
    "no escape": (GOOD.replace(b"bge-m3", b"bge\\q"), "no JSON"),
    "a control": (GOOD.replace(b"bge-m3", b"bge\t"), "no JSON"),
    "NUL": (b"\x00" * 100, "no JSON"),
    "not UTF-8": (GOOD.replace(b"bge-m3", b"\xff\xfe"), "no JSON"),
    "deep": (b"[" * 100_000, "no JSON"),
    "deep and whole": (b'{"a": ' + b"[" * 50_000 + b"]" * 50_000 + b"}", "no JSON"),
    "a number of a thousand digits": (GOOD.replace(b": 4,", b": " + b"9" * 1000 + b","), "fields"),
    "a number of too many digits": (GOOD.replace(b": 4,", b": " + b"9" * 9999 + b","), "no JSON"),
    "an array": (b"[1]", "fields"),
    "a string": (b'"x"', "fields"),
    "nothing in it": (b"{}", "fields"),
    "no digest": (GOOD.replace(b'"digest"', b'"other"'), "fields"),
    "a short key": (GOOD.replace(KEY.encode(), b"abc"), "fields"),
    "a key in capitals": (GOOD.replace(KEY.encode(), KEY.upper().encode()), "fields"),
    "dims as text": (GOOD.replace(b": 4,", b': "4",'), "fields"),
    "dims true": (GOOD.replace(b": 4,", b": true,"), "fields"),
    "dims negative": (GOOD.replace(b": 4,", b": -4,"), "fields"),
    "dims null": (GOOD.replace(b": 4,", b": null,"), "fields"),
    "dims NaN": (GOOD.replace(b": 4,", b": NaN,"), "fields"),
    "dims zero": (with_vec([], 0), "fields"),
    "dims beyond": (with_vec([1.0], 65_537), "fields"),
    "other dims": (GOOD.replace(b": 4,", b": 5,"), "dims"),
    "fewer dims": (GOOD.replace(b": 4,", b": 3,"), "dims"),
    "a vector that is a list": (with_vec([1.0], vec=[1.0]), "fields"),
    "an empty vector": (with_vec([1.0], vec=""), "dims"),
    "base64 cut short": (with_vec(UNIT, vec=base64.b64encode(UNIT.tobytes()).decode()[:-3]), "base64"),
    "base64 cut by four": (with_vec(UNIT, vec=base64.b64encode(UNIT.tobytes()).decode()[:-4]), "dims"),
    "base64 with a space": (with_vec(UNIT, vec=" " + base64.b64encode(UNIT.tobytes()).decode()), "base64"),
    "no base64": (with_vec(UNIT, vec="xin chào"), "base64"),
    "a lone surrogate for base64": (with_vec(UNIT, vec="\ud800"), "base64"),
    "NaN": (with_vec([1.0, float("nan")]), "not finite"),
    "infinite": (with_vec([1.0, float("-inf")]), "not finite"),
    "zero": (with_vec([0.0, -0.0]), "all zero"),
    "long": (b" " * line.LONGEST + b"{}", "too long"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_lines(name):
    text, why = BAD[name]
    assert told(line.read, text) == why


@pytest.mark.parametrize(
    "text",
    [
        GOOD + b"\r",
        b" " + GOOD,
        json.dumps(json.loads(GOOD), separators=(",", ":")).encode(),
        json.dumps(dict(reversed(json.loads(GOOD).items()))).encode(),
        GOOD.replace(b'"model": "bge-m3", ', b""),
        GOOD.replace(b'"bge-m3"', b'{"a": [NaN, 1e999]}'),
        GOOD.replace(b"bge-m3", "mô hình\u2028".encode()),
        GOOD.replace(b"bge-m3", rb"\ud800\""),
        GOOD.replace(b"}", b', "engine": null, "x": 1}'),
    ],
)
def test_lines_of_other_writers(text):
    assert told(line.read, text) == told(line.read, GOOD)


@pytest.mark.parametrize("length", [1e-38, 1e-3, 0.99, 1.01, 2, 1e30])
def test_a_vector_of_another_length_is_divided_by_it(length):
    values = np.array([0.6, 0.8], np.float32) * np.float32(length)
    assert np.allclose(line.read(with_vec(values)).vector, [0.6, 0.8], atol=1e-6)


def test_a_vector_of_nearly_unit_length_stays_to_the_bit():
    values = np.array([0.6, 0.8], np.float32) * np.float32(1.0005)
    assert line.read(with_vec(values)).vector.tobytes() == values.tobytes()


def test_every_float_is_kept():
    values = np.array([1.0, -0.0, 1e-45, -1e-38], np.float32)
    assert line.read(line.written(KEY, "m", DIGEST, values, None)[:-1]).vector.tobytes() == values.tobytes()


def test_the_most_dims_fit_a_line():
    values = np.zeros(line.MOST_DIMS, np.float32)
    values[0] = 1
    assert line.read(line.written(KEY, "m" * 1000, DIGEST, values, "e" * 1000)[:-1]).dims == line.MOST_DIMS


@given(st.binary(max_size=300))
def test_no_bytes_but_a_line_are_one(text):
    assert isinstance(told(line.read, text), str)
