"""How many texts are embedded in one call: as many as take about a second."""

from collections.abc import Iterator
from time import monotonic
from typing import TypeVar

T = TypeVar("T")

SHORT, LONG = 0.25, 1.0  # seconds of one call: below, the next takes twice as many texts; above, half


def batches(items: list[T], most: int) -> Iterator[list[T]]:
    """Parts of at most `most`, one at first; the next is as long as the time that the caller took for this one allows.

    So much is lost at most when the work is ended, and so long others wait for the model.
    """
    start, size = 0, 1
    while start < len(items):
        begun = monotonic()
        yield items[start : start + size]
        start += size
        took = monotonic() - begun
        size = min(most, size * 2) if took < SHORT else max(1, size // 2) if took > LONG else size
