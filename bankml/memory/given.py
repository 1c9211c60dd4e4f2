"""What somebody gives for a record, checked: each refusal is one sentence with the value and the limit."""

from collections.abc import Sequence
from typing import Any, TypeVar

from bankml.errors import InputError
from bankml.utf8 import whole

SHOWN = 60  # characters of a value in an error
MOST_BITS = 1000  # of a whole number in decimal digits: Python refuses to write more than 4,300 of these

Name = TypeVar("Name", bound=str)


def text(name: str, value: Any, most: int) -> str:
    """Of at most `most` characters, without space around it; half a character is U+FFFD."""
    if not isinstance(value, str):
        raise InputError(f"{name} is of type {type(value).__name__}: give a text")
    found: str = whole(value).strip()
    if len(found) > most:
        raise InputError(f"{name} has {len(found):,} characters, more than {most:,}: shorten it")
    return found


def required(name: str, value: Any, most: int) -> str:
    """A text that is not empty."""
    if not (found := text(name, value, most)):
        raise InputError(f"{name} is {shown(value)}: it must say something")
    return found


def one_of(name: str, value: Any, names: Sequence[Name]) -> Name:
    """One of these."""
    for each in names:
        if value == each:
            return each
    raise InputError(f"{name} is {shown(value)}: give {', '.join(names[:-1])} or {names[-1]}")


def several(name: str, value: Any, most: int) -> list[Any]:
    """At most so many, each once."""
    if isinstance(value, str | bytes) or not isinstance(value, Sequence):
        raise InputError(f"{shown(value)} stands for {name}: give a list")
    try:
        found = list(dict.fromkeys(value))
    except TypeError:
        raise InputError(f"{shown(value)} stands for {name}: give a list of texts") from None
    if len(found) > most:
        raise InputError(f"{name} are {len(found):,}, more than {most}: keep the most telling")
    return found


def share(name: str, value: Any) -> float:
    """A number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InputError(f"{name} is {shown(value)}: give a number from 0 to 1")
    return abs(float(value))  # -0.0 is 0


def shown(value: Any) -> str:
    """As it would be written down, cut short."""
    if isinstance(value, int) and value.bit_length() > MOST_BITS:
        value = hex(value)
    written = ascii(value) if isinstance(value, str | bytes | int | float | None) else type(value).__name__
    return written if len(written) <= SHOWN else f"{written[:SHOWN]}…"
