"""Go's durations, and Ollama's keep_alive, in nanoseconds."""

import re
from typing import Any

FOREVER: int = 2**63 - 1  # Go's longest duration, 292 years: what Ollama keeps for a negative keep_alive

MOST_DIGITS = 20  # FOREVER has 19, and 20 behind the point tell parts of an hour far below a nanosecond
_UNITS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,  # U+00B5
    "μs": 10**3,  # U+03BC
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_TERM = re.compile(r"(\d*)(?:\.(\d*))?([^\d.]*)", re.ASCII)


def parse_duration(text: str) -> int:
    """Nanoseconds of a Go duration such as `1h30m`; raises ValueError with Go's words."""
    sign, rest = (-1, text[1:]) if text.startswith("-") else (1, text.removeprefix("+"))
    if rest == "0":
        return 0
    total, position = 0, 0
    while position < len(rest):
        match = _TERM.match(rest, position)
        assert match  # every part of the pattern is optional
        whole, fraction, unit = match.groups(default="")
        total += _nanoseconds(whole, fraction, unit, text)
        position = match.end()
    if not rest or total > FOREVER:
        raise ValueError(f"time: invalid duration {_quoted(text)}")
    return sign * total


def keep_alive(value: Any) -> int | None:
    """Nanoseconds to keep a model: a number counts seconds, a string is a Go duration, below 0 is for ever, None unset.

    Raises ValueError with Ollama's words.
    """
    if value is None:
        return None
    if isinstance(value, bool | list | dict):
        raise ValueError(f"Unsupported type: '{_go_type(value)}'")
    if isinstance(value, str):
        nanoseconds = parse_duration(value)
        return FOREVER if nanoseconds < 0 else nanoseconds
    seconds: float = min(max(value, -1), FOREVER)
    return int(seconds * 10**9) if 0 <= seconds < FOREVER / 10**9 else FOREVER


def spelled(nanoseconds: int) -> str:
    """As a Go duration that `keep_alive` reads back."""
    if nanoseconds >= FOREVER:
        return "-1s"
    seconds, rest = divmod(nanoseconds, 10**9)
    return f"{nanoseconds}ns" if rest else f"{seconds}s"


def _nanoseconds(whole: str, fraction: str, unit: str, text: str) -> int:
    if not whole and not fraction:
        raise ValueError(f"time: invalid duration {_quoted(text)}")
    if not unit:
        raise ValueError(f"time: missing unit in duration {_quoted(text)}")
    if unit not in _UNITS:
        raise ValueError(f"time: unknown unit {_quoted(unit)} in duration {_quoted(text)}")
    if len(whole.lstrip("0")) > MOST_DIGITS:
        raise ValueError(f"time: invalid duration {_quoted(text)}")
    fraction = fraction[:MOST_DIGITS]
    scale, tenths = _UNITS[unit], int(10 ** len(fraction))
    return int(whole.lstrip("0") or "0") * scale + int(fraction or "0") * scale // tenths


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _go_type(value: bool | list[Any] | dict[str, Any]) -> str:
    names = {"bool": "bool", "list": "[]interface {}", "dict": "map[string]interface {}"}
    return names[type(value).__name__]
