"""Go's duration grammar; the expected values and words are those of Go's time.ParseDuration and of Ollama."""

import math

import pytest

from bankml.durations import FOREVER, keep_alive, parse_duration, spelled

SECOND = 10**9


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("5m", 300 * SECOND),
        ("1h30m", 5400 * SECOND),
        ("-1m", -60 * SECOND),
        ("+2s", 2 * SECOND),
        ("0", 0),
        ("-0", 0),
        ("1.5h", 5400 * SECOND),
        (".5s", SECOND // 2),
        ("5.s", 5 * SECOND),
        ("1h1m1s1ms1us1ns", 3661 * SECOND + 1_001_001),
        ("1µs", 1000),  # micro sign
        ("1μs", 1000),  # Greek mu
    ],
)
def test_durations(text, nanoseconds):
    assert parse_duration(text) == nanoseconds


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", 'time: invalid duration ""'),
        ("-", 'time: invalid duration "-"'),
        (".", 'time: invalid duration "."'),
        ("m", 'time: invalid duration "m"'),
        ("-1", 'time: missing unit in duration "-1"'),
        ("300", 'time: missing unit in duration "300"'),
        ("1h30", 'time: missing unit in duration "1h30"'),
        ("1 m", 'time: unknown unit " m" in duration "1 m"'),
        ("5d", 'time: unknown unit "d" in duration "5d"'),
        ('1"', 'time: unknown unit "\\"" in duration "1\\""'),
        ("9999999999h", 'time: invalid duration "9999999999h"'),
        ("9" * 5000 + "h", f'time: invalid duration "{"9" * 5000}h"'),
    ],
)
def test_no_durations(text, message):
    with pytest.raises(ValueError, match="time: ") as error:
        parse_duration(text)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("value", "nanoseconds"),
    [
        (None, None),
        (0, 0),
        (60, 60 * SECOND),
        (0.5, SECOND // 2),
        (-1, FOREVER),
        (-math.inf, FOREVER),
        (1e400, FOREVER),
        (10**30, FOREVER),
        ("5m", 300 * SECOND),
        ("-1s", FOREVER),
        ("0", 0),
        ("0" * 5000 + "1s", SECOND),
        ("0." + "9" * 5000 + "s", SECOND - 1),
    ],
)
def test_keep_alive(value, nanoseconds):
    assert keep_alive(value) == nanoseconds


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (True, "Unsupported type: 'bool'"),
        ([1], "Unsupported type: '[]interface {}'"),
        ({}, "Unsupported type: 'map[string]interface {}'"),
        ("-1", 'time: missing unit in duration "-1"'),
    ],
)
def test_no_keep_alive(value, message):
    with pytest.raises(ValueError) as error:  # noqa: PT011 (the whole message is compared)
        keep_alive(value)
    assert str(error.value) == message


@pytest.mark.parametrize("nanoseconds", [0, 1, 999, SECOND // 2, SECOND, 300 * SECOND, FOREVER - 1, FOREVER])
def test_what_is_spelled_is_read_back(nanoseconds: int) -> None:
    assert keep_alive(spelled(nanoseconds)) == nanoseconds
