"""Instants as the store has them: microseconds since 1970, UTC."""

import time
from datetime import UTC, datetime, timedelta

from bankml.errors import InputError
from bankml.memory.given import shown

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


def now() -> int:
    """By this machine's clock, which may have been set back."""
    return time.time_ns() // 1000


def parse(text: str, name: str = "the time") -> int:
    """Of an ISO date or time; a date is its first moment, and one without a zone is of this machine's.

    Raises InputError, naming what it is with `name`.
    """
    try:
        found = datetime.fromisoformat(text.strip())
        return (found.astimezone(UTC) - EPOCH) // MICROSECOND
    except (ValueError, OverflowError, OSError):
        raise InputError(f"{name} is {shown(text)}: give a date or a time such as 2026-01-31T09:30:00Z") from None


def iso(instant: int) -> str:
    """`2026-01-31T09:30:00.000000Z`. An instant of no year that a calendar has is its number."""
    try:
        return (EPOCH + instant * MICROSECOND).isoformat(timespec="microseconds").replace("+00:00", "Z")
    except OverflowError:
        return str(instant)
